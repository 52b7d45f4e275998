"""Facts keep who decided that they stay held back."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0026_ongoing_states'),
    ]

    operations = [
        migrations.AddField(
            model_name='fact',
            name='kept_back_by',
            field=models.CharField(blank=True, help_text='Who decided that it stays held back.', max_length=200),
        ),
        migrations.AlterField(
            model_name='event',
            name='action',
            field=models.CharField(choices=[('enable', 'Enable'), ('disable', 'Disable'), ('configure', 'Configure'), ('pin', 'Pin'), ('unpin', 'Unpin'), ('add', 'Add'), ('edit', 'Edit'), ('hide', 'Hide'), ('show', 'Show'), ('release', 'Release'), ('keep', 'Keep back'), ('erase', 'Erase'), ('export', 'Export'), ('read', 'Read'), ('retry', 'Retry'), ('private', 'Private'), ('public', 'Public')], max_length=20),
        ),
    ]

"""A fact keeps who released it after it was held back."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0021_help_says_what_is'),
    ]

    operations = [
        migrations.AddField(
            model_name='fact',
            name='released_by',
            field=models.CharField(blank=True, help_text='Who let it pass after it was held back.', max_length=200),
        ),
        migrations.AlterField(
            model_name='event',
            name='action',
            field=models.CharField(choices=[('enable', 'Enable'), ('disable', 'Disable'), ('configure', 'Configure'), ('pin', 'Pin'), ('edit', 'Edit'), ('hide', 'Hide'), ('show', 'Show'), ('release', 'Release'), ('erase', 'Erase'), ('export', 'Export'), ('read', 'Read'), ('retry', 'Retry'), ('private', 'Private'), ('public', 'Public')], max_length=20),
        ),
    ]

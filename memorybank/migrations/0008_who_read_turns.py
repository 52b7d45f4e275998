"""Let the audit trail say who has read turns."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0007_forget_what_is_not_covered")]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='action',
            field=models.CharField(choices=[('enable', 'Enable'), ('disable', 'Disable'), ('configure', 'Configure'), ('pin', 'Pin'), ('edit', 'Edit'), ('hide', 'Hide'), ('show', 'Show'), ('erase', 'Erase'), ('export', 'Export'), ('read', 'Read'), ('retry', 'Retry'), ('private', 'Private'), ('public', 'Public')], max_length=20),
        ),
    ]

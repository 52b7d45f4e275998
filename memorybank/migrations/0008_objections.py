"""Let members object to lines of others: a request without turns, with a reason."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0007_withdraw_lines_of_digests'),
    ]

    operations = [
        migrations.AddField(
            model_name='erasurerequest',
            name='reason',
            field=models.TextField(blank=True, db_default='', default='', help_text='What is wrong; empty if closed.'),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='asked_in',
            field=models.PositiveBigIntegerField(db_index=True, default=0, help_text='The turn with the request; 0: it was made on a page.'),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='facts',
            field=models.JSONField(default=list, help_text='Ids of the facts that were hidden because of it, or that it objects to.'),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('restored', 'Restored'), ('erased', 'Erased'), ('settled', 'Settled')], default='open', max_length=10),
        ),
        migrations.AlterField(
            model_name='event',
            name='action',
            field=models.CharField(choices=[('enable', 'Enable'), ('disable', 'Disable'), ('configure', 'Configure'), ('pin', 'Pin'), ('unpin', 'Unpin'), ('add', 'Add'), ('edit', 'Edit'), ('hide', 'Hide'), ('show', 'Show'), ('release', 'Release'), ('keep', 'Keep back'), ('erase', 'Erase'), ('export', 'Export'), ('read', 'Read'), ('retry', 'Retry'), ('summarise', 'Summarise'), ('compress', 'Compress'), ('rebuild', 'Rebuild'), ('private', 'Private'), ('public', 'Public'), ('ask', 'Ask to forget'), ('restore', 'Restore'), ('object', 'Say that a line is wrong'), ('uphold', 'Leave a line as it is'), ('opt_out', 'Opt out'), ('opt_in', 'Opt in')], max_length=20),
        ),
    ]

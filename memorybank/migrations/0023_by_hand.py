"""Facts keep what they said before a person edited them; blocks say when they were made."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0022_released'),
    ]

    operations = [
        migrations.AddField(
            model_name='fact',
            name='edited_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='fact',
            name='hidden_with',
            field=models.ForeignKey(blank=True, help_text='The line that rests on it and was hidden: it comes back with that one.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='took_along', to='memorybank.fact'),
        ),
        migrations.AddField(
            model_name='fact',
            name='original',
            field=models.TextField(blank=True, help_text='What it said before somebody edited it; empty: nobody did.'),
        ),
        migrations.AddField(
            model_name='fact',
            name='original_speaker',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name='storedblock',
            name='made_at',
            field=models.DateTimeField(help_text='When it was rendered; lines that left it later left at once.', null=True),
        ),
        migrations.AlterField(
            model_name='event',
            name='action',
            field=models.CharField(choices=[('enable', 'Enable'), ('disable', 'Disable'), ('configure', 'Configure'), ('pin', 'Pin'), ('unpin', 'Unpin'), ('add', 'Add'), ('edit', 'Edit'), ('hide', 'Hide'), ('show', 'Show'), ('release', 'Release'), ('erase', 'Erase'), ('export', 'Export'), ('read', 'Read'), ('retry', 'Retry'), ('private', 'Private'), ('public', 'Public')], max_length=20),
        ),
        migrations.AlterField(
            model_name='fact',
            name='edited_by',
            field=models.CharField(blank=True, help_text='Who wrote it by hand, or wrote it anew.', max_length=200),
        ),
        migrations.AlterField(
            model_name='fact',
            name='tier',
            field=models.PositiveSmallIntegerField(editable=False, help_text="That of the live entry above it; empty: an absorbed digest's, unless a person settled it.", null=True),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.CheckConstraint(condition=models.Q(('original', ''), models.Q(('edited_by', ''), _negated=True), _connector='OR'), name='fact_original_was_edited'),
        ),
    ]

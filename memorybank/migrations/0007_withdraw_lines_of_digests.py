"""Withdraw lines of digests instead of deleting them, and note what outdates a line."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0006_recognise_erased_turns'),
    ]

    operations = [
        migrations.AddField(
            model_name='entry',
            name='detached_from',
            field=models.BigIntegerField(editable=False, help_text='The id of the digest that it was taken out of while its chat is private.', null=True),
        ),
        migrations.AddField(
            model_name='entry',
            name='outdated',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text='A model has to rewrite it: lines are withdrawn.'),
        ),
        migrations.AddField(
            model_name='fact',
            name="pinned_for",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='fact',
            name="withdrawn",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='factsource',
            name='source_edited_at',
            field=models.DateTimeField(help_text='When the source had been edited as the line was written; another time outdates the line.', null=True),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('outdated', True)), fields=['bank'], name='entry_outdated'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('detached_from__isnull', False)), fields=['detached_from'], name='entry_detached'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('withdrawn', True)), fields=['bank'], name='fact_withdrawn'),
        ),
    ]

"""Keep what recognises an erased turn: up to when its words are refused."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memorybank', '0005_find_latest_and_quarantined_facts'),
    ]

    operations = [
        migrations.AddField(
            model_name='erasure',
            name='until',
            field=models.DateTimeField(help_text='Words from up to then are not imported again; empty: up to the time of the erasure.', null=True),
        ),
        migrations.AlterField(
            model_name='erasure',
            name='counts',
            field=models.JSONField(help_text='How much was erased and will be rebuilt; empty for further turns.'),
        ),
    ]

"""Let a digest name the leaf facts that it stands for as they are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0009_unanswered_outputs")]

    operations = [
        migrations.AddField(
            model_name='entry',
            name='kept',
            field=models.JSONField(blank=True, default=list, help_text='Ids of the leaf facts that a digest stands for as they are, in order.'),
        ),
        migrations.AlterField(
            model_name='entry',
            name='tokens',
            field=models.PositiveIntegerField(default=0, help_text='Tokens of its facts and of those it stands for.'),
        ),
    ]

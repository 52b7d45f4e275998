"""Every output has a place in the order of its bank's turns, and keeps its id when it is answered.

What is there keeps its order: the place of an output is its id, which watermarks and leaves already name.
"""

from django.db import migrations, models
from django.db.models import F, Max
from django.db.models.functions import Coalesce

# By hand, because SQLite would make the table anew for it, without the triggers of the full-text index.
ADD = "ALTER TABLE memorybank_searchdocument ADD COLUMN sequence bigint NOT NULL DEFAULT 0"
DROP = "ALTER TABLE memorybank_searchdocument DROP COLUMN sequence"


def number(apps, schema_editor):
    Bank, Output = (apps.get_model("memorybank", name) for name in ("bank", "output"))
    Output.objects.update(sequence=F("pk"))
    apps.get_model("memorybank", "searchdocument").objects.update(sequence=F("output_id"))
    Bank.objects.update(last_sequence=Output.objects.aggregate(last=Coalesce(Max("pk"), 0))["last"])
    if schema_editor.connection.vendor == "postgresql":  # else the table cannot be altered in the same transaction
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0044_changing_facts")]

    operations = [
        migrations.AddField("bank", "last_sequence", models.PositiveBigIntegerField(default=0, editable=False, help_text='The last place in the order of its turns that was given away.')),
        migrations.AddField("output", "sequence", models.PositiveBigIntegerField(null=True, editable=False)),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(ADD, DROP)],
            [migrations.AddField("searchdocument", "sequence", models.PositiveBigIntegerField(help_text="That of its output.", default=0), preserve_default=False)],
        ),
        migrations.RunPython(number, migrations.RunPython.noop),
        migrations.AlterField("output", "sequence", models.PositiveBigIntegerField(editable=False, help_text="Its place in the order of its bank's turns; drawn again when it becomes ok.")),
        migrations.AlterModelOptions("output", {"ordering": ["sequence"]}),
        migrations.RemoveIndex("output", "output_by_chat"),
        migrations.AddConstraint("output", models.UniqueConstraint(fields=["chat", "sequence"], name="output_sequence_unique_in_chat")),
        migrations.AlterField(
            model_name='bank',
            name='off_after',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='While it is off: the sequence of the last turn while it was on.'),
        ),
        migrations.AlterField(
            model_name='chat',
            name='indexed_through',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='The sequence of the last output that recall has looked at.'),
        ),
        migrations.AlterField(
            model_name='chat',
            name='summarised_through',
            field=models.PositiveBigIntegerField(default=0, help_text='The watermark: the sequence of the last output that memory covers.'),
        ),
        migrations.AlterField(
            model_name='checkpoint',
            name='through',
            field=models.PositiveBigIntegerField(help_text='The sequence of the last output that it stands for.'),
        ),
        migrations.AlterField(
            model_name='entry',
            name='first_output',
            field=models.PositiveBigIntegerField(blank=True, help_text='The sequence of its first turn.', null=True),
        ),
        migrations.AlterField(
            model_name='entry',
            name='last_output',
            field=models.PositiveBigIntegerField(blank=True, help_text='The sequence of its last turn.', null=True),
        ),
    ]

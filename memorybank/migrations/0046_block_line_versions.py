"""Name the block's history for what it holds, and give each line the first day of its period."""

from django.db import migrations, models
import django.db.models.deletion


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0045_tiers_from_the_finest")]

    operations = [
        migrations.RenameModel("ToldLine", "BlockLineVersion"),
        migrations.RenameIndex("BlockLineVersion", new_name="line_version_until", old_name="told_line_until"),
        migrations.RenameIndex("BlockLineVersion", new_name="line_version_since", old_name="told_line_since"),
        migrations.AlterField(
            "BlockLineVersion",
            "bank",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="line_versions",
                to="memorybank.bank",
            ),
        ),
        migrations.AddField("BlockLineVersion", "period_start", models.DateField(null=True)),
        migrations.AlterField("BlockLineVersion", "period", models.CharField(max_length=40, default="")),
        migrations.AlterField(
            "StoredBlock",
            "lines",
            models.JSONField(help_text="Its lines and those in reserve, each by its fields; see packing.MemoryLine."),
        ),
    ]

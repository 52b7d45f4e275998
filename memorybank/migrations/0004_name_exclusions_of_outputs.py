"""Name the flags of an output by the reason for which memory excludes it; their columns keep their names."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0003_empty_old_errors")]

    operations = [
        migrations.AlterField(
            "output",
            "withheld",
            models.BooleanField(
                db_column="withheld",
                default=False,
                help_text="Its author asked to erase it, and no owner has decided yet.",
            ),
        ),
        migrations.AlterField(
            "output",
            "left_out",
            models.BooleanField(
                db_column="left_out",
                default=False,
                help_text="It is from before memory was on, and was not included.",
            ),
        ),
        migrations.RenameField("output", "withheld", "erasure_requested"),
        migrations.RenameField("output", "left_out", "predates_memory"),
        migrations.AlterField(
            "output",
            "set_aside",
            models.BooleanField(
                default=False, help_text="Its chat was continued from an earlier turn, so the chat no longer shows it."
            ),
        ),
    ]

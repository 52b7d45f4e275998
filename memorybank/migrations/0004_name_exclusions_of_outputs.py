"""Name the flags of an output by the reason for which memory excludes it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0003_empty_old_errors")]

    operations = [
        migrations.RenameField("output", "withheld", "erasure_requested"),
        migrations.RenameField("output", "left_out", "predates_memory"),
        migrations.AlterField(
            "output",
            "erasure_requested",
            models.BooleanField(
                default=False, help_text="Its author asked to erase it, and an owner has not decided yet."
            ),
        ),
        migrations.AlterField(
            "output",
            "set_aside",
            models.BooleanField(
                default=False, help_text="Its chat was continued from an earlier turn, so the chat no longer shows it."
            ),
        ),
    ]

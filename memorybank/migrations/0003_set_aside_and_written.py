"""Errors of the ledger that may be emptied, turns set aside, written digests; then empty old errors.

They may repeat prompts or keys.
"""

from django.db import migrations, models

#: The keys of chats that the gateway recorded: only their turns stored an upstream's own words.
GATEWAY_CHAT = "gw-"
REPLACEMENT = "The upstream returned an error."


def empty_errors(apps, schema_editor):
    apps.get_model("memorybank", "LLMCall").objects.exclude(error="").update(error="")
    outputs = apps.get_model("memorybank", "Output").objects.exclude(error="")
    outputs.filter(chat__key__startswith=GATEWAY_CHAT).update(error=REPLACEMENT)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0002_search_and_append_only")]

    operations = [
        migrations.RemoveConstraint(model_name="llmcall", name="llm_call_error_explained"),
        migrations.AddField(
            model_name="output",
            name="set_aside",
            field=models.BooleanField(
                default=False, help_text="Its chat was continued from an earlier turn; the next summary passes over it."
            ),
        ),
        migrations.AddField(
            model_name="entry",
            name="dropped_lines",
            field=models.PositiveIntegerField(
                default=0, help_text="Lines of the model that were dropped because what they cite does not say them."
            ),
        ),
        migrations.AddField(
            model_name="entry",
            name="left_out",
            field=models.PositiveIntegerField(
                default=0, help_text="Notes that a digest does not tell, as its model said."
            ),
        ),
        migrations.AlterField(
            model_name="entry",
            name="granularity",
            field=models.CharField(
                choices=[
                    ("conversation", "Conversation"),
                    ("day", "Day"),
                    ("week", "Week"),
                    ("month", "Month"),
                    ("background", "Background"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="fact",
            name="kind",
            field=models.CharField(
                choices=[
                    ("fact", "Fact"),
                    ("decision", "Decision"),
                    ("plan", "Plan"),
                    ("preference", "Preference"),
                    ("question", "Question"),
                ],
                default="fact",
                max_length=10,
            ),
        ),
        # Last: PostgreSQL alters no table with changes of data that its transaction has yet to check.
        migrations.RunPython(empty_errors, migrations.RunPython.noop),
    ]

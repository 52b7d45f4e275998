"""Facts that bind only their author: what says how to behave, and is not released."""

from django.db import migrations, models

#: Reasons for quarantine that are no rule of its author: what markup, links and forged roles carry.
CARRIED = ("forges a role, heading or control token", "forges a tool call", "sends data away")


def mark_normative(apps, schema_editor):
    quarantined = apps.get_model("memorybank", "Fact").objects.exclude(quarantine="")
    quarantined.exclude(quarantine__in=CARRIED).exclude(speaker="assistant").update(normative=True)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0003_set_aside_and_written")]

    operations = [
        migrations.AddField(
            model_name="fact",
            name="normative",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="It says how to behave or answer; until somebody releases it, it binds only its author.",
            ),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(condition=models.Q(("normative", True)), fields=["bank"], name="fact_normative"),
        ),
        migrations.RunPython(mark_normative, migrations.RunPython.noop),
    ]

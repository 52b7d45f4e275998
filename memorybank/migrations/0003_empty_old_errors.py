"""Empty errors that were stored before they were cleaned: they may repeat prompts or keys."""

from django.db import migrations

#: The keys of chats that the gateway recorded: only their turns stored an upstream's own words.
GATEWAY_CHAT = "gw-"
REPLACEMENT = "The upstream returned an error."


def empty_errors(apps, schema_editor):
    apps.get_model("memorybank", "LLMCall").objects.exclude(error="").update(error="")
    outputs = apps.get_model("memorybank", "Output").objects.exclude(error="")
    outputs.filter(chat__key__startswith=GATEWAY_CHAT).update(error=REPLACEMENT)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0002_search_and_append_only")]

    operations = [migrations.RunPython(empty_errors, migrations.RunPython.noop)]

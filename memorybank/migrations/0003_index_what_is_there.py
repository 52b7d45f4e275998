"""Have the turns recorded before there was an index found by the next sweeps."""

from django.db import migrations


def index_what_is_there(apps, schema_editor):
    chats = apps.get_model("memorybank", "Chat").objects
    chats.filter(private=False, bank__enabled=True, last_output_at__isnull=False).update(index_due=True)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0002_search")]

    operations = [migrations.RunPython(index_what_is_there, migrations.RunPython.noop)]

"""Name the sections of stored blocks for what they hold."""

from django.db import migrations

NAMES = {"settled": "stable", "recent": "quota", "fresh": "further"}
#: Where a stored line has its section.
SECTION = 9


def name(names):
    def rename(apps, schema_editor):
        for block in apps.get_model("memorybank", "StoredBlock").objects.iterator(chunk_size=100):
            for line in block.lines.get("lines", ()):
                line[SECTION] = names.get(line[SECTION], line[SECTION])
            block.save(update_fields=["lines"])

    return rename


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0015_workers_take_turns")]

    operations = [migrations.RunPython(name(NAMES), name({new: old for old, new in NAMES.items()}))]

"""Have every turn indexed again: words are parted at hyphens, and short ones lose their endings. Until then turns are
found by the words they have."""

from django.db import migrations


def index_anew(apps, schema_editor):
    covered = apps.get_model("memorybank", "Chat").objects.filter(private=False, summarised_through__gt=0)
    covered.update(indexed_through=0)
    covered.filter(bank__enabled=True).update(index_due=True)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0038_history_by_choice")]

    operations = [migrations.RunPython(index_anew, index_anew)]

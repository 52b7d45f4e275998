"""Have every turn indexed again, with who speaks apart from what is said. Until then a speaker's name counts as said."""

from django.db import migrations


def index_anew(apps, schema_editor):
    covered = apps.get_model("memorybank", "Chat").objects.filter(private=False, summarised_through__gt=0)
    covered.update(indexed_through=0)
    covered.filter(bank__enabled=True).update(index_due=True)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0042_replaced_outputs")]

    operations = [migrations.RunPython(index_anew, index_anew)]

"""Have every turn indexed again, because other words are made of it. Until then it is found by those it has."""

from django.db import migrations


def index_anew(apps, schema_editor):
    covered = apps.get_model("memorybank", "Chat").objects.filter(private=False, summarised_through__gt=0)
    covered.update(indexed_through=0)
    covered.filter(bank__enabled=True).update(index_due=True)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0017_who_is_quoted")]

    operations = [migrations.RunPython(index_anew, index_anew)]

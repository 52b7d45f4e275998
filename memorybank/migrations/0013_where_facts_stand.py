"""Say of every fact whose it is and in which tier it stands."""

from django.db import migrations
from django.db.models import Case, OuterRef, Subquery, Value, When
from django.db.models.functions import Coalesce

TIERS = ("month", "week", "day", "conversation")
ABOVE = ("parent__parent__parent", "parent__parent", "parent")


def place(apps, schema_editor):
    entries = apps.get_model("memorybank", "Entry").objects.filter(pk=OuterRef("entry_id")).order_by()
    facts = apps.get_model("memorybank", "Fact").objects
    root = Coalesce(*(f"{above}__granularity" for above in ABOVE), "granularity")
    tier = Case(*(When(root=rung, then=Value(number)) for number, rung in enumerate(TIERS)))
    placed = entries.annotate(root=root).annotate(tier=tier)
    facts.update(bank_id=Subquery(entries.values("bank_id")), tier=Subquery(placed.values("tier")))
    facts.exclude(entry__granularity="conversation").exclude(entry__parent=None).update(tier=None)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0012_fact_standing")]

    operations = [migrations.RunPython(place, migrations.RunPython.noop)]

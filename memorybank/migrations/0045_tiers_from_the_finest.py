"""Count tiers from the finest rung, so that a coarser rung renumbers nothing. Its own inverse."""

from django.db import migrations
from django.db.models import F

COARSEST = 3
#: Where a stored line has its tier.
TIER = 2


def turn_round(apps, schema_editor):
    for model in ("Fact", "ToldLine"):
        rows = apps.get_model("memorybank", model).objects.filter(tier__isnull=False)
        rows.update(tier=COARSEST - F("tier"))
    for block in apps.get_model("memorybank", "StoredBlock").objects.iterator(chunk_size=100):
        for line in [*block.lines.get("lines", ()), *block.lines.get("reserve", ())]:
            line[TIER] = COARSEST - line[TIER]
        block.save(update_fields=["lines"])


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0044_changing_facts")]

    operations = [migrations.RunPython(turn_round, turn_round)]

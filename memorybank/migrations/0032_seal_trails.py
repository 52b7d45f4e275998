"""Seal the events that are there, in the order in which they were written."""

import hashlib
import json
from datetime import UTC

from django.db import migrations


def sealed(before, event):
    """As Sealed.sealed_over does it."""
    at = event.at.astimezone(UTC).isoformat()
    told = [before, event.bank_id, event.number, event.actor, event.action, event.detail, at]
    plain = json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


def seal(apps, schema_editor):
    Event, Trail = apps.get_model("memorybank", "Event"), apps.get_model("memorybank", "Trail")
    for bank in Event.objects.order_by().values_list("bank", flat=True).distinct():
        number, before = 0, ""
        for event in Event.objects.filter(bank=bank).order_by("pk"):
            number += 1
            event.number = number
            event.seal = before = sealed(before, event)
            event.save(update_fields=["number", "seal"])
        Trail.objects.create(bank_id=bank, length=number, seal=before)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0031_trail")]

    operations = [migrations.RunPython(seal, migrations.RunPython.noop)]

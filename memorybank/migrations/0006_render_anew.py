"""Have the sweep render the block of every bank that is on."""

from datetime import UTC, datetime

from django.db import migrations
from django.db.models import F


def render_anew(apps, schema_editor):
    banks = apps.get_model("memorybank", "Bank").objects.filter(enabled=True)
    banks.update(compress_at=datetime(1970, 1, 1, tzinfo=UTC), version=F("version") + 1)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0005_stored_blocks")]

    operations = [migrations.RunPython(render_anew, migrations.RunPython.noop)]

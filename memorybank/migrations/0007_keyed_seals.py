"""Seal audit logs with a key that the database does not hold, and reseal the logs that are intact.

A log that was changed before keeps its seals, so that ``check_memory`` reports it.
"""

import hmac
import json
from datetime import UTC
from hashlib import sha256

from django.conf import settings
from django.db import migrations, models


def keyed(*values):
    key = sha256(f"memorybank.audit\0{settings.SECRET_KEY}".encode()).digest()
    return hmac.new(key, _text(values), sha256).hexdigest()


def plain(*values):
    return sha256(_text(values)).hexdigest()


def _text(values):
    return json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def reseal_logs(apps, schema_editor, names, old, new):
    """Replace the seals of all intact logs of one app: its model of events, of logs, and the owner of both."""
    app, event_name, log_name, owner = names
    events, logs = apps.get_model(app, event_name).objects, apps.get_model(app, log_name).objects
    table, on_postgresql = events.model._meta.db_table, schema_editor.connection.vendor == "postgresql"
    if on_postgresql:
        schema_editor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {table}_unchanged")
    for log in logs.all().iterator():
        rows = list(events.filter(**{owner: log.pk}).order_by("number"))
        before = [""] + [row.seal for row in rows]
        intact = all(
            row.seal == old(*_values(row, owner, seal)) and row.number == number
            for number, (row, seal) in enumerate(zip(rows, before), start=1)
        )
        if intact and (len(rows), before[-1]) == (log.length, log.seal):
            seal = ""
            for row in rows:
                seal = new(*_values(row, owner, seal))
                events.filter(pk=row.pk).update(seal=seal)
            end_seal = new("end", log.pk, log.length, seal)
            logs.filter(pk=log.pk).update(seal=seal, end_seal=end_seal)
    if on_postgresql:
        schema_editor.execute(f"ALTER TABLE {table} ENABLE TRIGGER {table}_unchanged")


def _values(row, owner, before):
    at = row.at.astimezone(UTC).isoformat()
    return before, getattr(row, f"{owner}_id"), row.number, row.actor, row.action, row.detail, at


NAMES = ("memorybank", "Event", "AuditLog", "bank")


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0006_slow_prompts")]

    operations = [
        migrations.AddField(
            model_name="auditlog",
            name="end_seal",
            field=models.CharField(
                blank=True,
                default="",
                help_text="HMAC of length and seal: without the key no log can be cut short.",
                max_length=64,
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="event",
            name="seal",
            field=models.CharField(
                editable=False, help_text="HMAC of the event and of the seal before.", max_length=64
            ),
        ),
        migrations.RunPython(
            lambda apps, editor: reseal_logs(apps, editor, NAMES, plain, keyed),
            lambda apps, editor: reseal_logs(apps, editor, NAMES, keyed, plain),
        ),
    ]

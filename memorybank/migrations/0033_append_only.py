"""No two events at one place; and on PostgreSQL none is changed, nor deleted but with its bank.

The second trigger looks when the transaction ends: then the bank is gone, too, or nothing goes.
"""

from django.db import migrations, models

# Told of a trigger for deletions: the table of those whose trails they are, and the column that names one.
POSTGRESQL = """
CREATE FUNCTION memorybank_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    stays boolean;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE restrict_violation USING MESSAGE = 'What is on an audit trail is not changed.';
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I WHERE id = ($1).%I)', TG_ARGV[0], TG_ARGV[1]) INTO stays USING OLD;
    IF stays THEN
        RAISE restrict_violation USING MESSAGE = 'What is on an audit trail is not deleted.';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER memorybank_event_unchanged AFTER UPDATE ON memorybank_event
    FOR EACH ROW EXECUTE FUNCTION memorybank_append_only();
CREATE CONSTRAINT TRIGGER memorybank_event_kept AFTER DELETE ON memorybank_event
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION memorybank_append_only('memorybank_bank', 'bank_id');
"""
POSTGRESQL_BACK = """
DROP TRIGGER memorybank_event_unchanged ON memorybank_event;
DROP TRIGGER memorybank_event_kept ON memorybank_event;
DROP FUNCTION memorybank_append_only;
"""


def refuse(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRESQL, params=None)


def allow(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRESQL_BACK, params=None)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0032_seal_trails")]

    operations = [
        migrations.AddConstraint(
            "event", models.UniqueConstraint(name="event_place_unique", fields=["bank", "number"])
        ),
        migrations.RunPython(refuse, allow),
    ]

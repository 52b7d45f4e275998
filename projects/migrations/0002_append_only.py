"""A part that needs SQL: on PostgreSQL nothing on a tenant's audit log is changed, nor deleted but with its tenant.

Written by hand and kept when 0001 is made again.
"""

from django.db import migrations

POSTGRESQL = """
CREATE TRIGGER projects_tenantevent_unchanged AFTER UPDATE ON projects_tenantevent
    FOR EACH ROW EXECUTE FUNCTION memorybank_append_only();
CREATE CONSTRAINT TRIGGER projects_tenantevent_kept AFTER DELETE ON projects_tenantevent
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION memorybank_append_only('projects_tenant', 'tenant_id');
"""
POSTGRESQL_BACK = """
DROP TRIGGER projects_tenantevent_unchanged ON projects_tenantevent;
DROP TRIGGER projects_tenantevent_kept ON projects_tenantevent;
"""


def refuse(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRESQL, params=None)


def allow(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRESQL_BACK, params=None)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0002_search_and_append_only"), ("projects", "0001_initial")]

    operations = [migrations.RunPython(refuse, allow)]

"""An audit trail for each tenant; on PostgreSQL nothing on it is changed, nor deleted but with its tenant."""

import django.core.serializers.json
import django.db.models.deletion
from django.db import migrations, models

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
    dependencies = [("memorybank", "0033_append_only"), ("projects", "0005_monthly_cap")]

    operations = [
        migrations.CreateModel(
            "TenantTrail",
            fields=[
                ("length", models.PositiveBigIntegerField(default=0)),
                ("seal", models.CharField(blank=True, max_length=64)),
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="trail",
                        serialize=False,
                        to="projects.tenant",
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            "TenantEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveBigIntegerField(editable=False, help_text="Its place on the trail, from 1.")),
                (
                    "seal",
                    models.CharField(
                        editable=False, help_text="SHA-256 of what it says and of the seal before.", max_length=64
                    ),
                ),
                ("actor", models.CharField(max_length=200)),
                (
                    "detail",
                    models.JSONField(
                        blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("create", "Create"),
                            ("change", "Change"),
                            ("invite", "Invite"),
                            ("withdraw", "Withdraw"),
                            ("join", "Join"),
                            ("add", "Add"),
                            ("role", "Role"),
                            ("remove", "Remove"),
                            ("open", "Open a project"),
                            ("delete", "Delete a project"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="projects.tenant"
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "number"), name="tenant_event_place_unique")
                ],
            },
        ),
        migrations.RunPython(refuse, allow),
    ]

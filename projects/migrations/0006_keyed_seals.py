"""Seal the audit logs of tenants with a key that the database does not hold, as those of banks."""

from importlib import import_module

from django.db import migrations, models

banks = import_module("memorybank.migrations.0007_keyed_seals")
NAMES = ("projects", "TenantEvent", "TenantAuditLog", "tenant")


class Migration(migrations.Migration):
    dependencies = [("projects", "0005_name_sources"), ("memorybank", "0007_keyed_seals")]

    operations = [
        migrations.AddField(
            model_name="tenantauditlog",
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
            model_name="tenantevent",
            name="seal",
            field=models.CharField(
                editable=False, help_text="HMAC of the event and of the seal before.", max_length=64
            ),
        ),
        migrations.RunPython(
            lambda apps, editor: banks.reseal_logs(apps, editor, NAMES, banks.plain, banks.keyed),
            lambda apps, editor: banks.reseal_logs(apps, editor, NAMES, banks.keyed, banks.plain),
        ),
    ]

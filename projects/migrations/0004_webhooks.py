"""Webhooks and their deliveries."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0003_headers_owners_and_nodes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="tenantevent",
            name="action",
            field=models.CharField(
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
                    ("issue", "Issue a key"),
                    ("revoke", "Revoke a key"),
                    ("hook", "Add or change a webhook"),
                    ("unhook", "Delete a webhook"),
                ],
                max_length=20,
            ),
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("url", models.CharField(max_length=500)),
                ("encrypted_secret", models.TextField(editable=False)),
                ("events", models.JSONField(default=list, help_text="What it is told; empty: everything.")),
                ("created_by", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField()),
                ("disabled_at", models.DateTimeField(blank=True, null=True)),
                (
                    "dropped",
                    models.PositiveIntegerField(default=0, help_text="Events not sent, because too many were waiting."),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="webhooks", to="projects.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event",
                    models.CharField(
                        help_text="A change of memory, as hooks name it.",
                        max_length=20,
                    ),
                ),
                ("subject", models.PositiveBigIntegerField(help_text="The id of the entry, fact, receipt or chat.")),
                ("created_at", models.DateTimeField()),
                (
                    "due_at",
                    models.DateTimeField(help_text="When to send it; empty: it was sent, or given up.", null=True),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "status",
                    models.PositiveSmallIntegerField(help_text="The HTTP status of the last attempt.", null=True),
                ),
                (
                    "error",
                    models.CharField(blank=True, help_text="Why the last attempt got no answer.", max_length=100),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="projects.webhook"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "indexes": [
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="delivery_due")
                ],
            },
        ),
    ]

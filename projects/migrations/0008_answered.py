"""Requests to record that were answered, for those who send them again."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0039_index_anew_by_parts"), ("projects", "0007_key_scopes")]

    operations = [
        migrations.CreateModel(
            "Answered",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="Of the header Idempotency-Key.", max_length=64)),
                ("position", models.PositiveIntegerField()),
                ("body", models.CharField(max_length=64)),
                ("at", models.DateTimeField(db_index=True)),
                (
                    "api_key",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="projects.apikey"
                    ),
                ),
                (
                    "output",
                    models.ForeignKey(
                        help_text="Empty: it was known before, or is not taken in.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memorybank.output",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("api_key", "name", "position"), name="answered_once")
                ],
            },
        ),
    ]

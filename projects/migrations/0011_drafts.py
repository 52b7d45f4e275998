"""Answers that are being written, and which of those that were given were stopped."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("memorybank", "0039_index_anew_by_parts"),
        ("projects", "0010_references_given"),
    ]

    operations = [
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "output",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="draft",
                        serialize=False,
                        to="memorybank.output",
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("saved_at", models.DateTimeField(help_text="When its process was last heard of.")),
                ("stopping", models.BooleanField(default=False, help_text="Somebody asked to stop it.")),
            ],
        ),
        migrations.AddField(
            model_name="givenwith",
            name="stopped",
            field=models.BooleanField(default=False, help_text="Somebody stopped it; it is what had come by then."),
        ),
    ]

"""Each event's place on the trail of its bank, its seal, and where each trail ends. Empty until they are sealed."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0030_line_receipts")]

    operations = [
        migrations.CreateModel(
            "trail",
            fields=[
                ("length", models.PositiveBigIntegerField(default=0)),
                ("seal", models.CharField(blank=True, max_length=64)),
                (
                    "bank",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="trail",
                        serialize=False,
                        to="memorybank.bank",
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        migrations.AddField(
            "event",
            "number",
            models.PositiveBigIntegerField(default=0, editable=False, help_text="Its place on the trail, from 1."),
            preserve_default=False,
        ),
        migrations.AddField(
            "event",
            "seal",
            models.CharField(
                default="", editable=False, help_text="SHA-256 of what it says and of the seal before.", max_length=64
            ),
            preserve_default=False,
        ),
    ]

"""Outputs have metadata: labels of the outer application."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0004_normative_facts")]

    operations = [
        migrations.AddField(
            model_name="output",
            name="metadata",
            field=models.JSONField(
                blank=True, default=dict, help_text="Labels of the outer application; no model reads them."
            ),
        ),
    ]

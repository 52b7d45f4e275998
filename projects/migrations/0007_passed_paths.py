"""Upstreams may get further addresses, without memory."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0006_keyed_seals")]

    operations = [
        migrations.AddField(
            model_name="upstream",
            name="passed_paths",
            field=models.TextField(
                blank=True,
                db_default="",
                help_text="Addresses that are passed on without memory, one a line: completions, moderations, …",
            ),
        ),
    ]

"""Prompts that were given no memory are counted for two more reasons: no message of a chat, and memory that failed."""

from django.db import migrations, models

REASONS = [
    ("given", "Given"),
    ("off", "memory is off"),
    ("nothing", "nothing is remembered yet"),
    ("aside", "it was no message of a chat"),
    ("failed", "memory failed, and the answer came without it"),
]


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0040_compactions_awaited")]

    operations = [migrations.AlterField("promptcount", "memory", models.CharField(choices=REASONS, max_length=10))]

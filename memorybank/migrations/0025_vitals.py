"""When the last sweep was, how many prompts were given memory, and calls by time: what whoever watches asks for."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0024_erasure")]

    operations = [
        migrations.CreateModel(
            name="Sweep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="PromptCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                (
                    "memory",
                    models.CharField(
                        max_length=10,
                        choices=[
                            ("given", "Given"), ("off", "memory is off"), ("nothing", "nothing is remembered yet"),
                        ],
                    ),
                ),
                ("prompts", models.PositiveIntegerField(default=0)),
                (
                    "bank",
                    models.ForeignKey(
                        "memorybank.bank", django.db.models.deletion.CASCADE,
                        related_name="prompt_counts", db_index=False,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="prompt_count_by_day")],
                "constraints": [
                    models.UniqueConstraint(fields=("bank", "day", "memory"), name="prompt_count_unique"),
                ],
            },
        ),
        migrations.AddIndex("llmcall", models.Index(fields=["at"], name="llm_call_by_time")),
    ]

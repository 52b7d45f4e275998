"""Where a project's requests to the gateway go, and where their turns stand in their conversations."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

PROTOCOLS = [("openai", "OpenAI: chat completions, responses, embeddings"), ("anthropic", "Anthropic: messages")]
HASH = {"max_length": 64}


def to(model, name):
    return models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name=name, to=model)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0001_initial"), ("projects", "0008_answered")]

    operations = [
        migrations.CreateModel(
            "GatewayStep",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("before", models.CharField(**HASH)),
                ("after", models.CharField(**HASH)),
                ("tail", models.CharField(**HASH)),
                ("chat", to("memorybank.chat", "gateway_steps")),
                ("output", to("memorybank.output", "gateway_steps")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["after"], name="gateway_step_after"),
                    models.Index(fields=["tail"], name="gateway_step_tail"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("output", "after"), name="gateway_step_unique_in_output")
                ],
            },
        ),
        migrations.CreateModel(
            "Upstream",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("protocol", models.CharField(choices=PROTOCOLS, max_length=10)),
                (
                    "base_url",
                    models.CharField(
                        help_text="As a client of that protocol takes it, such as https://api.openai.com/v1.",
                        max_length=500,
                        validators=[
                            django.core.validators.RegexValidator(
                                r"^https?://[^/\s?#]+[^\s?#]*$", "An address such as https://api.openai.com/v1."
                            )
                        ],
                    ),
                ),
                ("sealed_key", models.TextField(blank=True, editable=False)),
                (
                    "allowed",
                    models.TextField(blank=True, help_text="Models that may be asked, one a line; empty: all."),
                ),
                ("project", to("projects.project", "upstreams")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "protocol"), name="upstream_unique_in_project")
                ],
            },
        ),
    ]

"""Keep rendered blocks in a table of their own, as lines with their sources, and give recall a budget of its own.

Blocks are derived: what was stored before is dropped and rendered anew by the next sweep.
"""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0004_parked_chats")]

    operations = [
        migrations.CreateModel(
            name="StoredBlock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveBigIntegerField(help_text="The version of the bank it was made of.")),
                ("text", models.TextField(blank=True)),
                ("tokens", models.PositiveIntegerField()),
                ("encoding", models.CharField(max_length=20)),
                (
                    "lines",
                    models.JSONField(
                        help_text="Its lines, some in reserve, and where each comes from; see packing.Sourced."
                    ),
                ),
                (
                    "bank",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="blocks",
                        to="memorybank.bank",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="storedblock",
            constraint=models.UniqueConstraint(fields=("bank", "version"), name="block_unique_in_version"),
        ),
        migrations.RemoveField(model_name="bank", name="block"),
        migrations.RemoveField(model_name="bank", name="block_chats"),
        migrations.RemoveField(model_name="bank", name="block_tokens"),
        migrations.RemoveField(model_name="bank", name="block_version"),
        migrations.RemoveField(model_name="bank", name="lead"),
        migrations.RemoveField(model_name="chat", name="block"),
        migrations.RemoveField(model_name="chat", name="block_tokens"),
        migrations.RemoveField(model_name="chat", name="block_version"),
        migrations.RemoveField(model_name="chat", name="lead"),
        migrations.AddField(
            model_name="chat",
            name="kept_block",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                help_text="The block it was last given: while people write in it, it keeps that.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="kept_by",
                to="memorybank.storedblock",
            ),
        ),
        migrations.AddField(
            model_name="bank",
            name="recall_tokens",
            field=models.PositiveIntegerField(
                default=600,
                help_text="Tokens of notes that are recalled for the newest message, at most 8,000; 0: none.",
                validators=[django.core.validators.MaxValueValidator(8000)],
                verbose_name="recall budget",
            ),
        ),
        migrations.AlterField(
            model_name="bank",
            name="max_tokens",
            field=models.PositiveIntegerField(
                default=2000,
                help_text="Tokens of the block that goes into every prompt, 200 to 32,000.",
                validators=[
                    django.core.validators.MinValueValidator(200),
                    django.core.validators.MaxValueValidator(32000),
                ],
                verbose_name="token budget",
            ),
        ),
        migrations.AddConstraint(
            model_name="bank",
            constraint=models.CheckConstraint(
                condition=models.Q(("recall_tokens__lte", 8000)), name="bank_recall_within_limits"
            ),
        ),
    ]

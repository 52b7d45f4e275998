"""A monthly cap for each bank, since when it is reached, and since when a model answers. Changes may hold numbers."""

import django.core.serializers.json
import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0027_kept_back")]

    operations = [
        migrations.AddField(
            "bank",
            "monthly_cap",
            models.DecimalField(
                max_digits=12,
                decimal_places=2,
                null=True,
                blank=True,
                validators=[django.core.validators.MinValueValidator(0)],
                help_text="What memory may cost a month (UTC), in the currency of the prices; empty: no cap. At the cap it is "
                "extracted without a model, and made anew when there is money again.",
            ),
        ),
        migrations.AddField(
            "bank",
            "capped_at",
            models.DateTimeField(null=True, blank=True, editable=False, help_text="Since when it is at its cap."),
        ),
        migrations.AddIndex(
            "bank",
            models.Index(
                name="bank_capped", fields=["capped_at"], condition=models.Q(capped_at__isnull=False)
            ),
        ),
        migrations.AddField(
            "llmendpoint",
            "up_since",
            models.DateTimeField(
                null=True, blank=True, help_text="Since when it has answered; empty: it does not."
            ),
        ),
        migrations.AlterField(
            "event",
            "detail",
            models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder),
        ),
        migrations.AlterField(
            "entry",
            "stale",
            models.BooleanField(default=False, help_text="To be made anew from what is there now."),
        ),
    ]

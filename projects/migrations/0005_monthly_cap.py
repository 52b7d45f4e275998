"""What the memory of a tenant may cost a month."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0004_people")]

    operations = [
        migrations.AddField(
            "tenant",
            "monthly_cap",
            models.DecimalField(
                max_digits=12,
                decimal_places=2,
                null=True,
                blank=True,
                validators=[django.core.validators.MinValueValidator(0)],
                help_text="What the memory of all its projects may cost a month (UTC), in the currency of the prices; "
                "empty: no cap.",
            ),
        ),
    ]

"""Index the latest facts of a bank, for lists, and the quarantined ones, for reviews."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memorybank", "0004_name_exclusions_of_outputs"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(
                condition=models.Q(("quarantine", ""), _negated=True), fields=["bank"], name="fact_quarantined"
            ),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(fields=["bank", "said_on", "id"], name="fact_latest"),
        ),
    ]

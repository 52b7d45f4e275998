"""Help texts say what is masked, and name no module. Nothing changes in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0020_masked_values")]

    operations = [
        migrations.AlterField(
            model_name="bank",
            name="redact_personal",
            field=models.BooleanField(
                "mask personal data",
                default=True,
                help_text="Mask e-mail addresses, telephone, card and id numbers, streets and birthdays in memory. "
                "Secrets are always masked.",
            ),
        ),
        migrations.AlterField(
            model_name="searchdocument",
            name="words",
            field=models.TextField(help_text="What the full-text index holds."),
        ),
    ]

"""Let an id at an upstream be one person's: what it names has memory that was given to them alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0003_recognise_erased_turns")]

    operations = [
        migrations.AddField(
            "upstreamobject",
            "person",
            models.CharField(
                blank=True,
                db_default="",
                help_text="The only one who may use it: it has memory for them alone.",
                max_length=200,
            ),
        ),
    ]

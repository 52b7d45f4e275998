"""Of a compaction that somebody asked for: what matters most, and that it is resumed if it breaks off."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0039_index_anew_by_parts")]

    operations = [
        migrations.AddField(
            model_name="compaction",
            name="focus",
            field=models.CharField(
                blank=True, default="", help_text="What matters most, while it is being made.", max_length=1000
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="compaction",
            name="awaited",
            field=models.BooleanField(
                default=False, help_text="Somebody asked for it, so it is resumed if it breaks off."
            ),
        ),
    ]

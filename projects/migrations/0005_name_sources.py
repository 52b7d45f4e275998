"""A key says where its requests may name the person who is speaking."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0004_webhooks")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="name_sources",
            field=models.CharField(
                blank=True, default="memory,front_end,body", help_text="Separated by commas.", max_length=100
            ),
        ),
    ]

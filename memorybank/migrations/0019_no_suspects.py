"""Useless answers are the chat's own affair: endpoints keep no list of suspects."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0018_index_anew")]

    operations = [migrations.RemoveField(model_name="llmendpoint", name="suspects")]

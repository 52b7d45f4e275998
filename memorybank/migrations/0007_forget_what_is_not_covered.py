"""Take the turns that still wait for a summary out of recall; they come back once memory covers them."""

from django.db import migrations
from django.db.models import F


def forget_what_is_not_covered(apps, schema_editor):
    waiting = F("chat__summarised_through")
    apps.get_model("memorybank", "SearchDocument").objects.filter(output_id__gt=waiting).delete()
    chats = apps.get_model("memorybank", "Chat").objects
    chats.filter(indexed_through__gt=F("summarised_through")).update(indexed_through=F("summarised_through"))
    chats.filter(index_due=True, summarised_through__lte=F("indexed_through")).update(index_due=False)


def index_all_turns(apps, schema_editor):
    chats = apps.get_model("memorybank", "Chat").objects
    chats.filter(private=False, bank__enabled=True, last_output_at__isnull=False).update(index_due=True)


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0006_render_anew")]

    operations = [migrations.RunPython(forget_what_is_not_covered, index_all_turns)]

"""Replace the facts that a digest holds word for word by references to the leaf facts they were copied from.

What a person did something about stays a row. Going back, the copies are made again.
"""

from django.db import migrations

COPIED = ("kind", "text", "speaker", "said_on", "tokens", "weight", "detail")


def refer(apps, schema_editor):
    facts = apps.get_model("memorybank", "Fact").objects
    for digest in _digests(apps):
        lines = facts.filter(entry=digest, pinned=False, hidden=False, edited_by="", quarantine="")
        lines = [line for line in lines.order_by("position") if len(line.citations) == 1]
        texts = dict(facts.filter(pk__in=[line.citations[0] for line in lines]).values_list("pk", "text"))
        copies = [line for line in lines if texts.get(line.citations[0]) == line.text]
        if copies:
            digest.kept = [line.citations[0] for line in copies]
            digest.save(update_fields=["kept"])
            facts.filter(pk__in=[line.pk for line in copies]).delete()


def copy(apps, schema_editor):
    Fact = apps.get_model("memorybank", "Fact")
    for digest in _digests(apps).exclude(kept=[]):
        last = max(Fact.objects.filter(entry=digest).values_list("position", flat=True), default=-1)
        kept = Fact.objects.in_bulk(digest.kept)
        Fact.objects.bulk_create(
            Fact(entry=digest, position=last + number, citations=[pk], **{name: getattr(kept[pk], name) for name in COPIED})
            for number, pk in enumerate(digest.kept, start=1)
            if pk in kept
        )
        digest.kept = []
        digest.save(update_fields=["kept"])


def _digests(apps):
    return apps.get_model("memorybank", "Entry").objects.exclude(granularity="conversation")


class Migration(migrations.Migration):
    dependencies = [("memorybank", "0010_entry_kept")]

    operations = [migrations.RunPython(refer, copy)]

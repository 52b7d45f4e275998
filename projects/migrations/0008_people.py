"""Members get the key by which banks know them; private chats are for their owners."""

from secrets import token_hex

from django.db import migrations, models
from django.db.models import F


def name_members(apps, schema_editor):
    memberships = apps.get_model("projects", "Membership").objects
    for member in memberships.filter(person=None).iterator():
        memberships.filter(pk=member.pk).update(person=token_hex())


def name_readers(apps, schema_editor):
    memberships = apps.get_model("projects", "Membership").objects
    readers = apps.get_model("memorybank", "ChatReader").objects
    chats = apps.get_model("memorybank", "Chat").objects
    private = apps.get_model("projects", "Conversation").objects.filter(chat__private=True, owner__isnull=False)
    for chat, owner, tenant in private.values_list("chat", "owner", "chat__bank__project__tenant").iterator():
        if member := memberships.filter(user=owner, tenant=tenant).first():
            readers.create(chat_id=chat, person=member.person)
            waiting = chats.filter(pk=chat, pending_outputs__gt=0, bank__enabled=True)
            waiting.update(due_at=F("last_output_at"))


class Migration(migrations.Migration):
    dependencies = [("projects", "0007_passed_paths"), ("memorybank", "0008_audiences")]

    operations = [
        migrations.AddField("membership", "person", models.CharField(max_length=64, null=True, editable=False)),
        migrations.RunPython(name_members, migrations.RunPython.noop),
        migrations.RunPython(name_readers, migrations.RunPython.noop),
        migrations.AlterField(
            "membership",
            "person",
            models.CharField(
                default=token_hex, editable=False, max_length=64, unique=True
            ),
        ),
        migrations.AddField(
            "answercontext",
            "personal",
            models.JSONField(default=list, help_text="Of each line for the asker alone the id of its fact."),
        ),
    ]

"""Upstreams may pass more headers, chats outlive their owners' accounts, and nodes of the gateway know their API key."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0002_append_only"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="upstream",
            name="passed_headers",
            field=models.TextField(
                blank=True,
                db_default="",
                help_text="Headers of a program that are sent on besides those of the protocol, one a line.",
            ),
        ),
        migrations.AlterField(
            model_name="conversation",
            name="owner",
            field=models.ForeignKey(
                help_text="Empty: the account has been deleted.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="conversations",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="conversationnode",
            name="key",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="projects.apikey"
            ),
        ),
        migrations.AlterField(
            model_name="conversationnode", name="tail", field=models.CharField(blank=True, max_length=64)
        ),
    ]

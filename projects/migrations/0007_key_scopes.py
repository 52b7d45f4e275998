"""Keys have scopes, an end, and a count of the requests of their last minute."""

from django.db import migrations, models

ACTIONS = [
    ("create", "Create"),
    ("change", "Change"),
    ("invite", "Invite"),
    ("withdraw", "Withdraw"),
    ("join", "Join"),
    ("add", "Add"),
    ("role", "Role"),
    ("remove", "Remove"),
    ("open", "Open a project"),
    ("delete", "Delete a project"),
    ("issue", "Issue a key"),
    ("revoke", "Revoke a key"),
]


class Migration(migrations.Migration):
    dependencies = [("projects", "0006_trail")]

    operations = [
        migrations.AddField("apikey", "scopes", models.JSONField(default=list)),
        migrations.AddField("apikey", "expires_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "apikey",
            "last_used_at",
            models.DateTimeField(editable=False, help_text="Its first request in its last minute.", null=True),
        ),
        migrations.AddField(
            "apikey",
            "taken",
            models.PositiveIntegerField(default=0, editable=False, help_text="Requests taken of that minute's."),
        ),
        migrations.AlterField("tenantevent", "action", models.CharField(choices=ACTIONS, max_length=20)),
    ]

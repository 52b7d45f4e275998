"""Invitations, and projects that are open to named members alone. What is there stays open to its tenant."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ROLES = [("owner", "Owner"), ("admin", "Admin"), ("member", "Member"), ("viewer", "Viewer")]


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0003_wrong_logins"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            "project",
            "members_only",
            models.BooleanField(default=False, help_text="Open to those who are named, not to the whole tenant."),
        ),
        migrations.AddField(
            "project",
            "named",
            models.ManyToManyField(blank=True, related_name="projects", to="projects.membership"),
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("email", models.EmailField(max_length=254)),
                ("role", models.CharField(choices=ROLES, default="member", max_length=10)),
                ("sent_at", models.DateTimeField()),
                (
                    "invited_by",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL, django.db.models.deletion.CASCADE, related_name="+"
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        "projects.tenant", django.db.models.deletion.CASCADE, related_name="invitations"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "email"), name="invitation_unique")],
            },
        ),
    ]

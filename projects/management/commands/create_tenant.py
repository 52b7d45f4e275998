"""Create a tenant with its first owner."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from projects.tenancy import provisioning

from ..base import COMMAND_ACTOR, USAGE_EXIT_CODE, MemoryCommand


class Command(MemoryCommand):
    help = "Create a tenant owned by an existing user, who invites other people on the tenant's People page."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="its name in addresses and commands, such as acme")
        parser.add_argument("--name", metavar="TEXT", help="its display name (default: the slug)")
        parser.add_argument("--owner", metavar="USER", required=True, help="the user name of its first owner")

    def handle(self, *, slug: str, name: str | None, owner: str, **options: Any) -> None:
        user = User.objects.filter(username=owner).first()
        if user is None:
            raise CommandError(
                f"There is no user “{owner}”. Create one with manage.py createsuperuser.", returncode=USAGE_EXIT_CODE
            )
        tenant = provisioning.create_tenant(slug, name or slug, owner=user, actor=COMMAND_ACTOR, now=timezone.now())
        self.stdout.write(f"{owner} owns {tenant}. Its people: /t/{slug}/people/")

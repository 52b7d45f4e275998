"""Make a tenant and its first owner from the shell."""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from projects.tenancy import audit

from ...models import Membership, Role, Tenant
from ..base import ACTOR, USAGE, MemoryCommand


class Command(MemoryCommand):
    help = "Make a tenant whose owner is somebody with an account; she invites the others on its People page."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="its name in addresses and commands, such as acme")
        parser.add_argument("--name", metavar="TEXT", help="its name for people (default: the slug)")
        parser.add_argument("--owner", metavar="USER", required=True, help="the user name of its first owner")

    def handle(self, *, slug: str, name: str | None, owner: str, **options: Any) -> None:
        user = User.objects.filter(username=owner).first()
        if user is None:
            raise CommandError(f"There is no user “{owner}”. Make one: manage.py createsuperuser.", returncode=USAGE)
        tenant = Tenant(slug=slug, name=name or slug)
        try:
            tenant.full_clean()
        except ValidationError as error:
            field, problems = next(iter(error.message_dict.items()))
            raise CommandError(f"{field}: {problems[0]}", returncode=USAGE) from error
        with transaction.atomic():
            tenant.save()
            Membership.objects.create(tenant=tenant, user=user, role=Role.OWNER)
            audit.log(tenant, ACTOR, audit.Action.CREATE, timezone.now(), slug=slug, owner=owner)
        self.stdout.write(f"{owner} owns {tenant}. Its people: /t/{slug}/people/")

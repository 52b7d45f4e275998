"""People as the banks of their tenant know them: from an account or a name to a key, and back."""

from collections.abc import Collection, Mapping

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from memorybank import services
from memorybank.services import ANYBODY, NOBODY, Asker, Chat
from projects.models import APIKey, Membership, NameSource, Project, Role, Scope
from projects.models.key import PERSON_HEADER

#: Other projects of the tenant whose preferences of a person are read.
MAX_PROJECTS_ELSEWHERE = 100


def members_of(project: Project) -> QuerySet[Membership]:
    """The members of its tenant who may open a project."""
    named = Project.objects.filter(Q(members_only=False) | Q(named=OuterRef("pk")), pk=project.pk)
    members = Membership.objects.filter(tenant=project.tenant_id, user__is_active=True)
    return members.filter(Q(role__in=[Role.OWNER, Role.ADMIN]) | Exists(named))


def person_of(project: Project, user: User) -> str:
    """The key of a member who may open the project; NOBODY for anybody else."""
    return members_of(project).filter(user=user).values_list("person", flat=True).first() or NOBODY


def asker(project: Project, user: User) -> Asker:
    """A member who asks in a project, with their preferences in the tenant's other projects that they may open."""
    person = person_of(project, user)
    if not person:
        return ANYBODY
    others = Project.objects.visible_to(user).filter(tenant=project.tenant_id, bank__enabled=True)
    banks = others.exclude(pk=project.pk).order_by("-pk").values_list("bank", flat=True)[:MAX_PROJECTS_ELSEWHERE]
    with services.every_bank():
        elsewhere = tuple(banks)
    services.enter_also(*elsewhere)
    return Asker(person, user.get_username(), elsewhere)


def asker_of(project: Project, chat: Chat) -> Asker:
    """The owner of a member's chat on this site; nobody in particular, if the account was deleted."""
    owner = User.objects.filter(conversations__chat=chat).first()
    return asker(project, owner) if owner else ANYBODY


def asker_in(key: APIKey, headers: Mapping[str, str]) -> Asker:
    """Whom a request names in the header for it, if its key trusts that; see :func:`asker_for`."""
    return asker_for(key, headers.get(PERSON_HEADER, "").strip() if key.trusts(NameSource.MEMORY) else "")


def asker_for(key: APIKey, name: str) -> Asker:
    """Whom a key speaks for that names a person: a member, if it has the scope for it; otherwise nobody."""
    user = User.objects.filter(username=name).first() if name and key.opens(Scope.PEOPLE) else None
    return asker(key.project, user) if user else ANYBODY


def persons_named(project: Project, names: Collection[str]) -> dict[str, str]:
    """The keys of those of these users who may open the project, by name."""
    return dict(members_of(project).filter(user__username__in=names).values_list("user__username", "person"))


def names_of(project: Project, persons: Collection[str]) -> list[str]:
    """The user names of these people, as far as they may still open the project; in order."""
    return sorted(members_of(project).filter(person__in=persons).values_list("user__username", flat=True))

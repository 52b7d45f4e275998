"""Map accounts and user names to the person keys that the tenant's banks use, and back."""

from collections.abc import Collection, Mapping

from django.contrib.auth.models import User
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Subquery, When

from memorybank import services
from memorybank.services import ANYBODY, NOBODY, Asker, Chat
from projects.models import APIKey, Membership, NameSource, Project, Role, Scope
from projects.models.key import PERSON_HEADER

#: Limit of the tenant's other projects from which a person's preferences are read.
MAX_PROJECTS_ELSEWHERE = 100


def members_of(project: Project) -> QuerySet[Membership]:
    """The active members of the tenant who may open the project."""
    named = Project.objects.filter(Q(members_only=False) | Q(named=OuterRef("pk")), pk=project.pk)
    members = Membership.objects.filter(tenant=project.tenant_id, user__is_active=True)
    return members.filter(Q(role__in=[Role.OWNER, Role.ADMIN]) | Exists(named))


def person_of(project: Project, user: User) -> str:
    """The person key of a user who may open the project; ``NOBODY`` for other users."""
    return members_of(project).filter(user=user).values_list("person", flat=True).first() or NOBODY


def persons_of(user: User) -> dict[int, str]:
    """The person keys of a user by tenant id, for projects that the user may open."""
    members = Membership.objects.filter(user=user, user__is_active=True)
    return dict(members.values_list("tenant", "person"))


def trusted_authors(bank_id: int) -> set[str]:
    """The user names of the active owners and admins of a bank's tenant."""
    members = Membership.objects.filter(tenant__projects__bank=bank_id, user__is_active=True)
    return set(members.filter(role__in=[Role.OWNER, Role.ADMIN]).values_list("user__username", flat=True))


def enter_as(project: Project, user: User) -> Asker:
    """Let a user who may open the project ask there; return the asker, or ``ANYBODY`` for other users.

    Enters the banks of the tenant's other projects that the user may open, too: the asker has their preferences there.
    """
    memberships = Membership.objects.filter(tenant=OuterRef("tenant"), user=user, user__is_active=True)
    this = Q(pk=project.pk)
    opened = Project.objects.visible_to(user).filter(this | Q(bank__enabled=True), tenant=project.tenant_id)
    newest = opened.order_by(Case(When(this, then=0), default=1), "-pk")[: MAX_PROJECTS_ELSEWHERE + 1]
    with services.all_banks_entered():
        persons = dict(newest.values_list("bank", Subquery(memberships.values("person"))))
    person = persons.pop(project.bank_id, None)
    if not person:
        return ANYBODY
    elsewhere = tuple(persons)
    services.also_enter(*elsewhere)
    return Asker(person, user.get_username(), elsewhere)


def enter_as_owner(project: Project, chat: Chat) -> Asker:
    """Like :func:`enter_as`, for the owner of a member's chat on this site; ``ANYBODY`` if the account was deleted."""
    owner = User.objects.filter(conversations__chat=chat).first()
    return enter_as(project, owner) if owner else ANYBODY


def enter_as_named_in(key: APIKey, headers: Mapping[str, str]) -> Asker:
    """Let the person ask whom the header ``X-Memory-User`` names, if the key trusts it; see :func:`enter_as_named`."""
    return enter_as_named(key, headers.get(PERSON_HEADER, "").strip() if key.trusts(NameSource.MEMORY) else "")


def enter_as_named(key: APIKey, name: str) -> Asker:
    """Like :func:`enter_as`, for a user name, if the key has the scope ``people``; otherwise ``ANYBODY``."""
    user = User.objects.filter(username=name).first() if name and key.opens(Scope.PEOPLE) else None
    return enter_as(key.project, user) if user else ANYBODY


def readable_chats(key: APIKey, name: str, chats: Collection[int]) -> set[int]:
    """The ids among ``chats`` that this key may read, or the member of this name for whom it may speak."""
    program = None if key.opens(Scope.ADMIN) else key.program
    readable = services.chats_of(key.project.bank).not_of_others(enter_as_named(key, name).person, program)
    return set(readable.filter(pk__in=chats).values_list("pk", flat=True)) if chats else set()


def persons_named(project: Project, names: Collection[str]) -> dict[str, str]:
    """Person keys by user name, for the named users who may open the project."""
    return dict(members_of(project).filter(user__username__in=names).values_list("user__username", "person"))


def names_of(project: Project, persons: Collection[str]) -> list[str]:
    """The sorted user names of these people, without those who may no longer open the project."""
    return sorted(members_of(project).filter(person__in=persons).values_list("user__username", flat=True))

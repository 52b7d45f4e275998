"""What is said of a model that failed: the provider's words to who can act on them, to others that somebody knows."""

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from projects.models import Project, Role
from projects.tenancy import permissions


def may_read(user: User, project: Project) -> bool:
    """Whether she is one of those who can act: owners, admins and superusers. They may name accounts and addresses."""
    return permissions.may(user, project.tenant, Role.ADMIN)


def told(user: User, project: Project, words: str) -> str:
    """The words, or what stands for them. The operator finds them on the ledger of calls, and in the metrics that
    there are some.
    """
    return words if may_read(user, project) else unavailable()


def unavailable() -> str:
    """What everybody may read."""
    return _("The model is not available. The operator has been told.")

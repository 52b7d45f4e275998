"""The reader's own chats beside the one that is open."""

from typing import Any

from django.contrib.auth.models import User

from projects.models import Conversation, Project

#: Chats that are listed; the project's page has the others.
SHOWN = 40
LONGEST_SEARCH = 200


def beside(user: User, project: Project, sought: str) -> dict[str, Any]:
    """The newest chats that say what is sought, all if nothing is; whether there are more. One query."""
    sought = sought.replace("\x00", "").strip()[:LONGEST_SEARCH]
    listed = list(Conversation.objects.of(user, project).saying(sought)[: SHOWN + 1])
    return {"chats": [each.chat for each in listed[:SHOWN]], "more": len(listed) > SHOWN, "sought": sought}

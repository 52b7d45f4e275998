"""Transcripts of talk between people: whom an output quotes, by the names before its colons.

Only whoever imports can say that a file is one; in a chat, a name before a colon is text like any other.
"""

import re
from collections.abc import Collection
from dataclasses import replace

from django.contrib.auth.models import User

from memorybank.services import NewOutput
from projects.models import Project

NAME = re.compile(r"\s*([^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2})[:：]\s*")


def spoken(new: NewOutput, members: Collection[str]) -> NewOutput:
    """``new`` with the names that open its question and its answer as who speaks there.

    No one of the ``members`` is quoted but the author, because what they say they write themselves.
    """
    others = {name.casefold() for name in members} - {new.author.casefold()}
    said_by, question = _parted(new.question, others)
    answered_by, answer = _parted(new.answer, others)
    said_by = "" if said_by == new.author else said_by
    return replace(new, said_by=said_by, question=question, answered_by=answered_by, answer=answer)


def _parted(text: str, others: Collection[str]) -> tuple[str, str]:
    """The name that opens the text ("" if none does, or one of the ``others``), and what follows."""
    found = NAME.match(text)
    if found is None or found[1].casefold() in others:
        return "", text
    return found[1], text[found.end() :]


def names_of_members(project: Project) -> frozenset[str]:
    """What the members of a project's tenant are called."""
    members = User.objects.filter(memberships__tenant=project.tenant_id)
    names = members.values_list("username", "first_name", "last_name")
    return frozenset(name for user, first, last in names for name in (user, first, f"{first} {last}".strip()) if name)

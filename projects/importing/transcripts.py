"""Read speakers from transcripts: the names before colons that begin a question or an answer.

Only the importer can declare a file a transcript; in a chat, a name before a colon is ordinary text.
"""

import re
from collections.abc import Collection
from dataclasses import replace

from django.contrib.auth.models import User

from memorybank.services import NewOutput
from projects.models import Project

SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2})[:：]\s*")


def split_speakers(new: NewOutput, members: Collection[str]) -> NewOutput:
    """``new`` with the names that begin its question and answer as their speakers.

    Of the ``members``, only the author is accepted: other members write their own messages.
    """
    others = {name.casefold() for name in members} - {new.author.casefold()}
    said_by, question = _split_speaker(new.question, others)
    answered_by, answer = _split_speaker(new.answer, others)
    said_by = "" if said_by == new.author else said_by
    return replace(new, said_by=said_by, question=question, answered_by=answered_by, answer=answer)


def _split_speaker(text: str, others: Collection[str]) -> tuple[str, str]:
    """The name that begins the text ("" if none does, or if it is one of ``others``), and the rest."""
    match = SPEAKER.match(text)
    if match is None or match[1].casefold() in others:
        return "", text
    return match[1], text[match.end() :]


def member_names(project: Project) -> frozenset[str]:
    members = User.objects.filter(memberships__tenant=project.tenant_id)
    names = members.values_list("username", "first_name", "last_name")
    return frozenset(name for user, first, last in names for name in (user, first, f"{first} {last}".strip()) if name)

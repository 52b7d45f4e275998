"""Read speakers from transcripts: a name before a colon at the start of a question or an answer.

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
    """Move the names at the start of question and answer into ``said_by`` and ``answered_by``.

    Among the ``members``, only the author is accepted as a speaker, because other members write their own messages.
    """
    others = {name.casefold() for name in members} - {new.author.casefold()}
    said_by, question = _split_speaker(new.question, others)
    answered_by, answer = _split_speaker(new.answer, others)
    said_by = "" if said_by == new.author else said_by
    return replace(new, said_by=said_by, question=question, answered_by=answered_by, answer=answer)


def _split_speaker(text: str, others: Collection[str]) -> tuple[str, str]:
    """The speaker's name at the start of the text ("" if there is none, or it is in ``others``), and the rest."""
    match = SPEAKER.match(text)
    if match is None or match[1].casefold() in others:
        return "", text
    return match[1], text[match.end() :]


def member_names(project: Project) -> frozenset[str]:
    members = User.objects.filter(memberships__tenant=project.tenant_id)
    names = members.values_list("username", "first_name", "last_name")
    return frozenset(name for user, first, last in names for name in (user, first, f"{first} {last}".strip()) if name)

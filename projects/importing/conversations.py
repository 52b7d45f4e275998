"""Record the conversations of another product's export as chats. Recording one twice changes nothing."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db import DataError, transaction

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Chat, NewOutput
from projects.models import Project
from projects.tenancy import people
from projects.web.titles import titled

from .exports import FORMATS, BadConversation, ExportedConversation, ExportedTurn
from .service import assign_owners


class Audience(StrEnum):
    """The readers of the memory of imported chats: only their author, or everybody in the project."""

    PRIVATE = "private"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Where an export goes.

    ``authors`` maps a person of the export to a user name, or to "" to leave the person out; the key "" is the default.
    """

    project: Project
    format: str
    audience: Audience
    authors: Mapping[str, str]

    def author(self, conversation: ExportedConversation) -> str:
        """The user name of the conversation's author; "" if this person is left out."""
        return self.authors.get(conversation.person, self.authors.get("", ""))

    def chat_key(self, conversation: ExportedConversation) -> str:
        """The key of the recorded chat. It includes the author, because two accounts may use the same ids."""
        name = "\n".join((self.author(conversation), conversation.person, conversation.key))
        return f"{self.format}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:32]}"

    def readers(self) -> dict[str, str]:
        """Each author's reader key, by user name. Raises :class:`InvalidInput` if an author is not a project member."""
        names = set(self.authors.values())
        readers = people.persons_named(self.project, names)
        if missing := sorted(names - readers.keys() - {""}):
            raise InvalidInput(f"user: the project has no member “{missing[0][:40]}”.")
        return readers

    def known(self, conversation: ExportedConversation) -> int:
        """How many turns of the conversation are already recorded."""
        keys = [turn.key for turn in conversation.in_order()]
        recorded = services.outputs_of(self.project.bank).filter(chat__key=self.chat_key(conversation))
        return recorded.filter(key__in=keys).count()


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """Counts of turns that are new, already recorded, or newly set aside because another version is shown; errors."""

    new: int = 0
    known: int = 0
    set_aside: int = 0
    bad: tuple[BadConversation, ...] = ()

    def __add__(self, other: "ImportCounts") -> "ImportCounts":
        added = (self.new + other.new, self.known + other.known, self.set_aside + other.set_aside)
        return ImportCounts(*added, bad=self.bad + other.bad)

    def as_dict(self) -> dict[str, int]:
        """The counts for a report."""
        return {"recorded": self.new, "known": self.known, "set_aside": self.set_aside}


def record_conversation(
    target: ImportTarget, readers: Mapping[str, str], conversation: ExportedConversation, *, now: datetime
) -> ImportCounts:
    """Record a conversation's turns in one transaction. Invalid turns are skipped and listed in ``bad``.

    Turns of versions that the export does not show are recorded, but set aside. New turns for their author alone are
    refused if others may read the chat.
    """
    author, key = target.author(conversation), target.chat_key(conversation)
    place = f"conversation {conversation.key[:60]}"
    if not author:
        return ImportCounts(bad=(BadConversation(place, f"user: no user is chosen for “{conversation.person[:40]}”."),))
    private = target.audience == Audience.PRIVATE
    bad: list[BadConversation] = []

    def checked() -> Iterator[NewOutput]:
        for turn in conversation.in_order():
            new = NewOutput(
                chat_key=key,
                author=author,
                question=turn.question,
                answer=turn.answer,
                created_at=turn.created_at,
                key=turn.key,
                title=_title(conversation),
                metadata=_metadata(target, turn),
                private=private,
                readers=[readers[author]] if private else (),
            )
            try:
                new.require_valid(now)
            except InvalidInput as error:
                bad.append(BadConversation(f"{place}, turn {turn.key[:60]}", str(error)))
            else:
                yield new

    new = list(checked())
    try:
        with transaction.atomic():
            outputs = services.record_many(target.project.bank, titled(new), now=now)
            fresh = [output for output in outputs if output]
            _require_no_other_readers([output.chat for output in fresh[:1] if private], readers.get(author, ""))
            assign_owners(target.project, fresh)
            aside = _link(target, conversation, key, now) if fresh else 0
    except InvalidInput as error:
        return ImportCounts(bad=(BadConversation(place, str(error)),))
    except DataError:  # the error message may quote the chat
        return ImportCounts(bad=(BadConversation(place, "the database cannot hold it."),))
    return ImportCounts(len(fresh), len(outputs) - len(fresh), aside, tuple(bad))


def _require_no_other_readers(chats: Sequence[Chat], reader: str) -> None:
    """Raise :class:`InvalidInput` if an earlier import or its owner has opened one of the chats to others."""
    if any(known is None or known - {reader} for known in map(services.readers_of, chats)):
        raise InvalidInput(
            "audience: the chat has been imported before, and others may read it. Make it private, or import for the "
            "project."
        )


def _link(target: ImportTarget, conversation: ExportedConversation, key: str, now: datetime) -> int:
    """Set aside the turns of other versions, unless the chat was continued on this site."""
    if FORMATS[target.format].has_turns:
        return 0
    bank, shown = target.project.bank, {turn.key for turn in conversation.turns}
    turns = services.outputs_of(bank).filter(chat__key=key).values_list("key", "metadata")
    went_on = any(metadata.get("imported_from") != target.format for _, metadata in turns)
    if went_on or all(turn in shown for turn, _ in turns):
        return 0
    return services.link_versions(bank, chat_key=key, shown=shown, replaced=conversation.replaced(), now=now)


def _title(conversation: ExportedConversation) -> str:
    return " ".join(conversation.title.split())[:200]


def _metadata(target: ImportTarget, turn: ExportedTurn) -> dict[str, str]:
    labels = {"imported_from": target.format, "model": turn.model[:200]}
    return {name: value for name, value in labels.items() if value}

"""Resolve an erasure request to whole and partial turns, and to the tombstones that block their import."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from memorybank.exceptions import InvalidInput
from memorybank.language.terms import FUNCTION_WORDS, words
from memorybank.models import Bank, Chat, Erasure, FactOutput, FactSource, Output
from memorybank.models.chat import OutputQuerySet, sequences_by_chat
from memorybank.models.privacy import Subject

ErasureKind = Erasure.Kind
#: A chat by its key, an author by name, turns by id, lines by the ids of their facts.
Target = str | int | Collection[int]


@dataclass(slots=True)
class ErasureScope:
    """The turns to erase: whole outputs, and halves of outputs whose other half somebody else wrote.

    ``subject`` names the target in the receipt.
    """

    kind: ErasureKind
    subject: Subject
    outputs: QuerySet[Output]
    halves: list[Output] = field(default_factory=list)

    def outputs_by_chat(self) -> dict[int, dict[int, int]]:
        """The ids and sequences of all outputs, by chat."""
        return sequences_by_chat([*self.outputs.only("chat", "sequence"), *self.halves])

    def tombstones(self) -> list[Subject]:
        """The turns, beside the subject, that must not be imported again. Read before they are deleted.

        Of a chat, a person or everything, those that their callers gave an id: by it they are refused, even if they are
        sent with a later time.
        """
        turns = self.outputs.select_related("chat").only("key", "chat__key").order_by("pk")
        named = turns if self.kind in (ErasureKind.OUTPUT, ErasureKind.LINE) else turns.exclude(key="")
        return [subject for turn in named if (subject := subject_of(turn)) != self.subject]

    def newest_turn(self) -> datetime | None:
        """When the newest of the turns was said; None if there is none."""
        newest: datetime | None = self.outputs.aggregate(newest=Max("created_at"))["newest"]
        return max(filter(None, [newest, *(turn.created_at for turn in self.halves)]), default=None)

    def chats_with_quoting_titles(self) -> list[int]:
        """The chats whose titles may quote erased turns."""
        return quoting_titles(self.outputs, always=self.kind != ErasureKind.OUTPUT)


def quoting_titles(outputs: QuerySet[Output], *, always: bool = False) -> list[int]:
    """The ids of chats whose titles quote these outputs: with a content word that no remaining turn contains.

    Titles without any words count, too. With ``always``, all titles of the outputs' chats count.
    """
    chats = []
    for chat in Chat.objects.filter(pk__in=outputs.values("chat")).exclude(title=""):
        title = words(chat.title)
        content_words = set(title) - FUNCTION_WORDS
        quoted = content_words - _missing_words(content_words, title[-1:], outputs.filter(chat=chat))
        remaining = chat.outputs.exclude(pk__in=outputs.values("pk"))
        if always or not title or _missing_words(quoted, title[-1:], remaining):
            chats.append(chat.pk)
    return chats


def title_for_others(chat: Chat) -> str:
    """The chat's title; "" if it quotes a turn that its author asked to erase."""
    asked = chat.outputs.filter(erasure_requested=True)
    return "" if asked.exists() and quoting_titles(asked) else chat.title


def _missing_words(wanted: set[str], last: list[str], turns: QuerySet[Output]) -> set[str]:
    """The wanted words that no turn has; of the ``last`` of a title, which may be cut, the beginning is enough."""
    for texts in turns.values_list("question", "answer").iterator(chunk_size=200):
        found = {word for text in texts for word in words(text)}
        found.update(word for word in last if any(other.startswith(word) for other in found))
        wanted = wanted - found
        if not wanted:
            break
    return wanted


def resolve_scope(bank: Bank, kind: ErasureKind, target: Target) -> ErasureScope:
    """The turns that a target names. Raises :class:`InvalidInput` if there is no such target."""
    outputs = Output.objects.filter(chat__bank=bank)
    if kind == ErasureKind.EVERYTHING:
        return ErasureScope(kind, (kind,), outputs)
    if kind == ErasureKind.AUTHOR:
        return _of_author(outputs, str(target))
    if kind == ErasureKind.CHAT:
        chat = bank.chats.filter(key=target).first()
        if chat is None:
            raise InvalidInput(_("chat: there is none with this key."))
        return ErasureScope(kind, (kind, chat.key), outputs.filter(chat=chat))
    if kind == ErasureKind.OUTPUT:
        return _of_turns(outputs, [target] if isinstance(target, str | int) else sorted(target))
    assert not isinstance(target, str | int)
    return _of_line(bank, outputs, set(target))


def _of_turns(outputs: OutputQuerySet, numbers: Sequence[str | int]) -> ErasureScope:
    """These turns, with their other versions. The first is the subject of the receipt."""
    turns = with_versions(outputs, outputs.filter(pk__in=numbers))
    subjects = {output.pk: subject_of(output) for output in turns.select_related("chat").only("key", "chat__key")}
    for number in numbers or [0]:
        if number not in subjects:
            raise InvalidInput(_("output: there is none with this id."))
    return ErasureScope(ErasureKind.OUTPUT, subjects[min(subjects)], turns)


def with_versions(outputs: OutputQuerySet, turns: OutputQuerySet) -> OutputQuerySet:
    """These turns and the set-aside turns that they replaced, directly or indirectly: nobody could find those later."""
    known = set(turns.values_list("pk", flat=True))
    reached = {pk for replaced in turns.exclude(replaces=[]).values_list("replaces", flat=True) for pk in replaced}
    while further := outputs.filter(pk__in=reached - known, set_aside=True):
        known.update(turn.pk for turn in further)
        reached.update(pk for turn in further for pk in turn.replaces)
    return outputs.filter(pk__in=known)


def subject_of(output: Output) -> Subject:
    """The subject that identifies a turn in receipts."""
    return (ErasureKind.OUTPUT, output.chat.key, output.key or f"#{output.pk}")


def _of_line(bank: Bank, outputs: OutputQuerySet, facts: set[int]) -> ErasureScope:
    """All turns that these facts rest on; lines of digests rest on turns through the leaf facts that they cite."""
    leaf_facts = facts.union(FactSource.objects.filter(fact__in=facts).values_list("source_id", flat=True))
    cited = FactOutput.objects.filter(fact__in=leaf_facts, fact__bank=bank)
    turns = with_versions(outputs, outputs.filter(pk__in=cited.values("output")))
    if not turns.exists():
        raise InvalidInput(_("line: there is none that rests on a message."))
    return ErasureScope(ErasureKind.LINE, (ErasureKind.LINE, *map(str, sorted(facts))), turns)


def _of_author(outputs: OutputQuerySet, author: str) -> ErasureScope:
    """All turns that an author wrote, said or answered; of turns shared with somebody else, only the author's half."""
    turns = outputs.of_person(author)
    if not author or not turns.exists():
        raise InvalidInput(_("author: no messages by this name."))
    halves = [turn for turn in turns.exclude(said_by="", answered_by="") if _keep_other_half(turn, author)]
    whole = turns.exclude(pk__in=[turn.pk for turn in halves])
    return ErasureScope(ErasureKind.AUTHOR, (ErasureKind.AUTHOR, author), whole, halves)


def _keep_other_half(output: Output, author: str) -> bool:
    """Clear the author's half of a turn without saving it; return whether another person's half is left."""
    if author not in (output.author, output.said_by):
        output.answer = output.answered_by = ""
    elif output.answered_by not in ("", author):
        output.question = output.said_by = output.author = ""
    output.messages, output.metadata = [], {}
    return bool(output.question or output.answer) and author not in (output.author, output.said_by, output.answered_by)

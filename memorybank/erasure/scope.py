"""What an erasure means: the turns that go, whole or by halves, and the names that they are not to come back by."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memorybank.exceptions import InvalidInput
from memorybank.language.terms import FUNCTION_WORDS, words
from memorybank.models import Bank, Chat, Erasure, FactOutput, FactSource, Output, public_id
from memorybank.models.erasure import Subject
from memorybank.models.output import OutputQuerySet, sequences_by_chat

Kind = Erasure.Kind
#: How a chat, a person, a turn or lines are named: a key, an account, the ids of a row or of facts.
Named = str | int | Collection[int]


@dataclass(slots=True)
class Doomed:
    """What was named, as it is found: whole outputs, and outputs of which somebody else said the other half.

    ``along`` are the turns of a line, or further ones: each has a name of its own, by which it is refused.
    """

    kind: Kind
    subject: Subject
    outputs: QuerySet[Output]
    halves: list[Output] = field(default_factory=list)
    along: list[Subject] = field(default_factory=list)

    def touched(self) -> dict[int, dict[int, int]]:
        """Their ids and sequences, by chat."""
        return sequences_by_chat([*self.outputs.only("chat", "sequence"), *self.halves])

    def quoting(self) -> list[int]:
        """The chats whose titles may quote what goes: of turns, those with a word that no turn says which stays."""
        quoting = []
        for chat in Chat.objects.filter(pk__in=self.touched()).exclude(title=""):
            named = set(words(chat.title))
            telling = named - FUNCTION_WORDS
            at_stake = telling - _unsaid(telling, self.outputs.filter(chat=chat))
            left = chat.outputs.exclude(pk__in=self.outputs.values("pk"))
            if self.kind != Kind.OUTPUT or not named or _unsaid(at_stake, left):
                quoting.append(chat.pk)
        return quoting


def _unsaid(said: set[str], turns: QuerySet[Output]) -> set[str]:
    """Those of the words, which may be cut short, that none of the turns has."""
    for texts in turns.values_list("question", "answer").iterator(chunk_size=200):
        heard = " ".join(word for text in texts for word in words(text))
        said = {word for word in said if word not in heard}
        if not said:
            break
    return said


def meant(bank: Bank, kind: Kind, named: Named) -> Doomed:
    """What goes by this name. Raises :class:`InvalidInput` if there is no such thing."""
    outputs = Output.objects.filter(chat__bank=bank)
    if kind == Kind.EVERYTHING:
        return Doomed(kind, (kind,), outputs)
    if kind == Kind.AUTHOR:
        return _of_author(outputs, str(named))
    if kind == Kind.CHAT:
        chat = bank.chats.filter(key=named).first()
        if chat is None:
            raise InvalidInput(_("chat: there is none with the key “%(key)s”.") % {"key": str(named)[:200]})
        return Doomed(kind, (kind, chat.key), outputs.filter(chat=chat))
    if kind == Kind.OUTPUT:
        return _of_turns(outputs, [named] if isinstance(named, str | int) else sorted(named))
    assert not isinstance(named, str | int)
    return _of_line(bank, outputs, set(named))


def _of_turns(outputs: OutputQuerySet, numbers: Sequence[str | int]) -> Doomed:
    """These turns, all of them: the first names what went, the others go along."""
    found = outputs.filter(pk__in=numbers)
    subjects = {output.pk: _subject(output) for output in found.select_related("chat").only("key", "chat__key")}
    for number in numbers or [0]:
        if number not in subjects:
            raise InvalidInput(
                _("output: there is none with the number %(number)s.") % {"number": public_id(int(number))}
            )
    first, *along = (subjects[pk] for pk in sorted(subjects))
    return Doomed(Kind.OUTPUT, first, found, along=along)


def _subject(output: Output) -> Subject:
    return (Kind.OUTPUT, output.chat.key, output.key or f"#{output.pk}")


def _of_line(bank: Bank, outputs: OutputQuerySet, facts: set[int]) -> Doomed:
    """All turns that these facts rest on, those of digests by the leaf facts that they cite."""
    leaf_facts = facts.union(FactSource.objects.filter(fact__in=facts).values_list("source_id", flat=True))
    cited = FactOutput.objects.filter(fact__in=leaf_facts, fact__bank=bank)
    turns = outputs.filter(pk__in=cited.values("output"))
    along = [_subject(output) for output in turns.select_related("chat").only("key", "chat__key")]
    if not along:
        raise InvalidInput(_("line: there is none that rests on a turn."))
    return Doomed(Kind.LINE, (Kind.LINE, *map(str, sorted(facts))), turns, along=along)


def _of_author(outputs: OutputQuerySet, author: str) -> Doomed:
    """All she wrote, and what she is quoted with; of talk between people, only her half of a turn."""
    found = outputs.of_person(author)
    if not author or not found.exists():
        raise InvalidInput(_("author: nothing of “%(name)s” is recorded.") % {"name": author[:200]})
    halves = [each for each in found.exclude(said_by="", answered_by="") if _others_said(each, author)]
    whole = found.exclude(pk__in=[each.pk for each in halves])
    return Doomed(Kind.AUTHOR, (Kind.AUTHOR, author), whole, halves)


def _others_said(output: Output, author: str) -> bool:
    """Whether a half of it is somebody else's; if so, hers is taken out of the row, which is not saved yet."""
    if author not in (output.author, output.said_by):
        output.answer = output.answered_by = ""
    elif output.answered_by not in ("", author):
        output.question = output.said_by = output.author = ""
    output.messages = []
    return bool(output.question or output.answer) and author not in (output.author, output.said_by, output.answered_by)

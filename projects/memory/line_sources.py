"""Where a line comes from, as far as its reader may open it, and what of it is in the reader's own words."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db.models import F, QuerySet, Window
from django.db.models.functions import DenseRank, Left
from django.urls import reverse

from memorybank import services
from memorybank.services import Bank, Fact, FactQuerySet, Origin, public_id
from projects.models import Conversation
from projects.tenancy import permissions

#: Characters of a message that are compared with a line, and that a link to the message shows.
COMPARED_CHARACTERS, LABEL_CHARACTERS = 4_000, 60
#: Maximum number of own lines that a summary's line offers to correct, and of authors named for messages of others.
MAX_OWN_LINES, MAX_AUTHORS = 3, 3
#: Maximum number of turns that a line in a list leads to.
MAX_TURNS = 3


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message in one of the reader's own chats: its time, its first words, and its address."""

    origin: Origin
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class LineSources:
    """The messages that a line rests on: the reader's own chats have ``messages``, the best first; others, a count."""

    messages: list[SourceMessage] = field(default_factory=list)
    others: int = 0
    authors: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.messages) + self.others


def own_messages(bank: Bank, origins: Iterable[Origin], reader: User) -> dict[int, tuple[str, str]]:
    """The question and the answer of the turns that are in the reader's own chats, by the id of the turn."""
    outputs, chats = {origin.output for origin in origins}, {origin.chat for origin in origins}
    own_chats = _opened_by(reader).filter(chat__in=chats).values("chat")
    own = services.outputs_of(bank).filter(pk__in=outputs, chat__in=own_chats)
    texts = own.values_list("pk", "question", Left("answer", COMPARED_CHARACTERS))
    return {output: (question, answer) for output, question, answer in texts}


def own_pages(bank: Bank, outputs: Collection[int], reader: User) -> dict[int, str]:
    """The addresses of these turns by id, limited to turns in the reader's own chats that they may open."""
    chats = _opened_by(reader).filter(chat__bank=bank).values("chat")
    rows = services.outputs_of(bank).filter(pk__in=outputs, chat__in=chats).values_list("pk", "sequence", "chat__key")
    return {output: turn_address(bank, key, output, sequence) for output, sequence, key in rows}


def own_turns(facts: Collection[int], reader: User) -> dict[int, list[str]]:
    """The addresses of the turns in the reader's own chats that each fact rests on, newest first, at most MAX_TURNS.

    The facts may be of several banks. Chats that the reader may not open any more are left out. Three queries.
    """
    pages = defaultdict[int, list[str]](list)
    place = ("chat__bank__project__tenant__slug", "chat__bank__project__slug", "chat__key")
    turn, opened = ("chat__outputs__pk", "chat__outputs__sequence"), _opened_by(reader)
    for relation in ("chat__outputs__facts", "chat__outputs__facts__restated_by"):  # a leaf's facts, lines of digests
        own = opened.filter(**{f"{relation}__in": list(facts)}).distinct()
        newest = F(turn[1]).desc()  # a turn has one rank, however many facts of a line rest on it
        ranked = own.annotate(rank=Window(DenseRank(), partition_by=F(relation), order_by=newest))
        shown = ranked.filter(rank__lte=MAX_TURNS).order_by("rank")
        for fact, *address in shown.values_list(relation, *place, *turn):
            pages[fact].append(_turn_address(*address))
    return pages


def _opened_by(reader: User) -> QuerySet[Conversation]:
    """The reader's own chats in the tenants where they may still chat: viewers may open no chat."""
    tenants = permissions.tenants_to_write_in(reader)
    return Conversation.objects.filter(owner=reader, chat__bank__project__tenant__in=tenants)


def sources_of(bank: Bank, text: str, origins: Collection[Origin], own: Mapping[int, tuple[str, str]]) -> LineSources:
    """The sources of a line; those in the reader's ``own`` chats begin with the one that shares most words with it."""
    said = frozenset(services.content_words(text))

    def shared(origin: Origin) -> int:
        return len(said.intersection(services.content_words(" ".join(own[origin.output])[:COMPARED_CHARACTERS])))

    opened = [origin for origin in origins if origin.output in own]
    closed = [origin for origin in origins if origin.output not in own]
    messages = [
        SourceMessage(
            origin,
            " ".join(own[origin.output][0].split())[: LABEL_CHARACTERS + 1],
            turn_address(bank, origin.chat_key, origin.output, origin.sequence),
        )
        for origin in sorted(opened, key=lambda origin: (-shared(origin), origin.sequence))
    ]
    authors = dict.fromkeys(origin.author for origin in closed if origin.author)
    return LineSources(messages, len(closed), list(authors)[:MAX_AUTHORS])


def own_lines(facts: FactQuerySet, lines: Iterable[Fact], author: str) -> dict[int, list[Fact]]:
    """What ``author`` may correct of each line: itself if it rests on their words alone; otherwise such sources of it.

    ``facts`` are those that they may read. Of a summary's sources, those come first that share most words with it.
    """
    rows = {line.pk: line for line in lines}
    readable = facts.filter(hidden=False, superseded_by=None)
    in_own_words = services.in_own_words(rows.values(), services.Asker(author=author)).values("pk")
    whole = readable.filter(pk__in=rows).filter(pk__in=in_own_words).values_list("pk", flat=True)
    own = {pk: [rows[pk]] for pk in whole}
    said = readable.filter(restated_by__in=[pk for pk in rows if pk not in own]).only_from(author)
    pairs = list(said.values_list("restated_by", "pk"))
    sources = readable.in_bulk({source for _, source in pairs})
    for summary, source in pairs:
        own.setdefault(summary, []).append(sources[source])
    return {pk: _closest(rows[pk].text, facts)[:MAX_OWN_LINES] for pk, facts in own.items()}


def _closest(text: str, facts: list[Fact]) -> list[Fact]:
    """The facts by the number of words that they share with a text, most first."""
    words = frozenset(services.content_words(text))
    return sorted(facts, key=lambda fact: (-len(words.intersection(services.content_words(fact.text))), fact.pk))


def turn_address(bank: Bank, chat_key: str, output: int, sequence: int) -> str:
    """The address of the chat page on which this turn is the last one."""
    return _turn_address(bank.project.tenant.slug, bank.project.slug, chat_key, output, sequence)


def _turn_address(tenant: str, project: str, chat_key: str, output: int, sequence: int) -> str:
    chat = reverse("chat", args=[tenant, project, chat_key])
    return f"{chat}?before={public_id(sequence + 1)}#turn-{public_id(output)}"

"""Render the personal part of a prompt: the asking person's preferences, and facts of private chats that they may read.

It follows the shared block, which has the same bytes for everybody. A bounded number of facts is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from memorybank import conf, prompts
from memorybank.core.memory_line import MemoryLine, Source, Text
from memorybank.core.packing.notes import Passage, pack_notes
from memorybank.language.dates import format_date
from memorybank.models import NOBODY, Bank, Fact, FactQuerySet, FactSource

#: The first line of the personal part.
PERSONAL_HEADER = prompts.text("memory.personal")
#: Limits: the newest private chats to read, the best facts of those chats, and the newest preferences.
MAX_CHATS_READ, MAX_FACTS_READ, MAX_PREFERENCES_READ = 50, 200, 50
#: The kind that is looked up by speaker: one person has few preferences in a bank.
PREFERENCE = Fact.Kind.PREFERENCE


@dataclass(frozen=True, slots=True)
class Asker:
    """The person who asks: ``person`` is the key by which banks know them, ``author`` the author of their outputs.

    ``elsewhere`` are ids of other banks from which this person's preferences are read, too. Without ``person`` the
    asker is anonymous.
    """

    person: str = NOBODY
    author: str = ""
    elsewhere: tuple[int, ...] = ()


ANYBODY = Asker()


def render_personal(bank: Bank, asker: Asker, budget: int, *, shown: Text, exclude_chat: str = "") -> Text:
    """The personal part, in at most ``budget`` tokens and without lines of ``shown``; empty if there is nothing.

    A rule of the asker is told in it, too, because ``shown`` has it only as a report. Leaves out facts of the chat
    ``exclude_chat``, because the model has its turns already.
    """
    if not asker.person or budget <= 0:
        return Text()
    known = {fact for line in shown.lines for fact in line.facts}
    facts = {fact.pk: fact for fact in _facts(bank, asker, exclude_chat) if fact.quarantine or fact.pk not in known}
    passages = [_passage(fact) for fact in facts.values()]
    encoding = conf.current().encoding
    packed = pack_notes(passages, budget, header=PERSONAL_HEADER, encoding=encoding)
    return Text(
        packed.text, packed.tokens, tuple(_line(bank, facts[passage.source[0]], passage) for passage in packed.passages)
    )


def _facts(bank: Bank, asker: Asker, exclude_chat: str) -> Iterable[Fact]:
    """The asker's facts, best first: pinned facts, preferences, then the rest by weight."""
    preferences = preferences_of([bank.pk, *asker.elsewhere], asker).exclude(bank=bank, entry__chat__key=exclude_chat)
    chats = bank.chats.restricted_to(asker.person).exclude(key=exclude_chat).order_by("-last_output_at", "-pk")
    ids = list(chats.values_list("pk", flat=True)[:MAX_CHATS_READ])
    private = Fact.objects.visible(viewer=asker.person).filter(entry__chat__in=ids) if ids else Fact.objects.none()
    best = list(_ready(private.order_by("-pinned", "-worth", "-pk"))[:MAX_FACTS_READ])
    pinned = [fact for fact in best if fact.pinned]
    return [*pinned, *_ready(preferences.order_by("-said_on", "-pk"))[:MAX_PREFERENCES_READ], *best]


def _ready(facts: FactQuerySet) -> FactQuerySet:
    return facts.select_related("entry__chat").prefetch_related("output_links")


def personal_facts(bank: Bank, asker: Asker) -> FactQuerySet:
    """All facts for the asker alone, whether or not they fit a prompt; none without an asker."""
    if not asker.person:
        return Fact.objects.none()
    private = bank.facts.restricted_to(asker.person).filter(hidden=False)
    preferences = preferences_of([bank.pk, *asker.elsewhere], asker)
    return _either(private, preferences)


def in_own_words(facts: Iterable[Fact], asker: Asker) -> FactQuerySet:
    """The facts among ``facts`` that rest on the asker's own words only.

    Also lines of digests, all of whose sources do.
    """
    ids = [fact.pk for fact in facts]
    sources = FactSource.objects.filter(fact__in=ids)
    own = Fact.objects.filter(pk__in=sources.values("source")).only_from(asker.author).values("pk")
    mixed = sources.exclude(source__in=own).values("fact")
    lines = Fact.objects.filter(pk__in=sources.values("fact")).exclude(pk__in=mixed)
    return _either(Fact.objects.filter(pk__in=ids).only_from(asker.author), lines)


def preferences_of(banks: Iterable[int], asker: Asker) -> FactQuerySet:
    """A person's preferences in these banks: rules that bind only them, and preferences in their own words."""
    from memorybank.safety.naming import display_name  # loads the rules of masking, which no shared block needs

    in_banks = Fact.objects.filter(bank__in=list(banks))
    stated = Fact.objects.visible(viewer=asker.person).visible_to(asker.person).filter(bank__in=list(banks))
    stated = stated.filter(kind=PREFERENCE, speaker=display_name(asker.author)).only_from(asker.author)
    rules = in_banks.preferences_of(asker.author, viewer=asker.person)
    return _either(stated, rules)


def _either(some: FactQuerySet, others: FactQuerySet) -> FactQuerySet:
    """The facts of both queries. With OR instead of a union, PostgreSQL would test the facts of all banks."""
    return Fact.objects.filter(pk__in=some.order_by().values("pk").union(others.order_by().values("pk")))


def _passage(fact: Fact) -> Passage:
    chat = fact.entry.chat
    return Passage(
        source=(fact.pk, 0),
        text=fact.text,
        at=fact.entry.last_at,
        chat=chat.pk if chat else 0,
        label=format_date(fact.said_on),
        speaker=fact.speaker,
        approved=True,
    )


def _line(bank: Bank, fact: Fact, said: Passage) -> MemoryLine:
    source = Source((fact.entry.chat.key,) if fact.entry.chat else (), tuple(fact.citations))
    return MemoryLine(
        facts=(fact.pk,),
        text=said.text,
        said_at=said.at,
        speaker=said.speaker,
        period_start=fact.said_on,
        label=said.label,
        pinned=fact.pinned,
        sources=(source,),
        private=fact.is_private or fact.bank_id != bank.pk,
    )

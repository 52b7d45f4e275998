"""What people decide about single facts: human words outrank the model, and the audit trail says whose they are."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import F, OuterRef, Subquery
from django.utils.translation import gettext as _

from memorybank import conf
from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.core import extraction
from memorybank.exceptions import InvalidInput, OutdatedWork
from memorybank.i18n import grouped
from memorybank.indexing import block_writer, remask
from memorybank.language import tokens
from memorybank.language.terms import terms
from memorybank.models import BY_HAND, Bank, Entry, Event, Fact, FactSource, MaskedValue, StoredBlock
from memorybank.new_output import NewOutput, storable
from memorybank.reading.recall.visibility import says
from memorybank.safety import quarantine
from memorybank.safety.escaping import escape
from memorybank.safety.naming import display_name
from memorybank.writing import recording, summarising

#: Characters of a fact by hand, and what the chat is called that it stands in.
MOST, TITLE = 1_000, "Written by hand"


@at_present
def hide(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Take facts out of every prompt at once, a digest's line with the facts it rests on; how many were shown before.

    What a model writes of the same turns later does not bring them back.
    """
    with _held(bank, fact_ids) as (row, facts):
        own = [fact for fact in facts if not fact.hidden or fact.hidden_with_id]
        _update(own, hidden=True, hidden_with=None)
        along = [pk for line in own for pk in _take_along(line)]
        if own:
            StoredBlock.objects.invalidate(row, facts=[*(fact.pk for fact in own), *along], now=now)
            log(row, actor, Event.Action.HIDE, now, facts=[fact.pk for fact in own])
    return len(own)


@at_present
def restore(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Let hidden facts in again, and with a digest's line what was hidden with it; how many were hidden."""
    with _held(bank, fact_ids) as (row, facts):
        own = [fact for fact in facts if fact.hidden]
        _update(own, hidden=False, hidden_with=None)
        _bring_back(row, own)
        _place(row, own)
        if own:
            StoredBlock.objects.invalidate(row, now=now)
            log(row, actor, Event.Action.SHOW, now, facts=[fact.pk for fact in own])
    return len(own)


@at_present
def release(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Let facts pass that were held back, for good; how many were. The next sweep shows them."""
    with _held(bank, fact_ids) as (row, facts):
        held = [fact for fact in facts if fact.quarantine]
        _update(held, quarantine="", released_by=actor[:200], kept_back_by="")
        if held:
            StoredBlock.objects.invalidate(row, now=now)
        for fact in held:
            log(row, actor, Event.Action.RELEASE, now, fact=fact.pk, reason=fact.quarantine)
    return len(held)


@at_present
def keep_back(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Leave facts held back for good, so that nobody need judge them again; how many waited for that."""
    with _held(bank, fact_ids) as (row, facts):
        kept = [fact for fact in facts if fact.quarantine and not fact.kept_back_by]
        _update(kept, kept_back_by=actor[:200])
        if kept:
            log(row, actor, Event.Action.KEEP, now, facts=[fact.pk for fact in kept])
    return len(kept)


@at_present
def pin(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Show facts in every block, whatever they are worth and whatever replaced them; how many were not pinned."""
    return _decide(bank, fact_ids, Event.Action.PIN, actor, now, pinned=True, superseded_by=None)


@at_present
def unpin(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Let facts compete for their place again; how many were pinned."""
    return _decide(bank, fact_ids, Event.Action.UNPIN, actor, now, pinned=False)


@at_present
def edit(bank: Bank, *, fact_ids: Collection[int], text: str, actor: str, now: datetime = PRESENT) -> int:
    """Put facts that say the same right: they say ``text`` from now on, as the words of ``actor``; how many did not.

    What each said stays underneath, with what it cites; to write just that again takes the edit back. Of a digest's
    line, what it rests on gives way, where that says what was put right. Raises :class:`InvalidInput`.
    """
    with _held(bank, fact_ids) as (row, facts):
        text = _masked(row, _writable(text))
        changed = [fact for fact in facts if fact.text != text]
        for fact in changed:
            _put_right(fact, text, actor, now)
            _overrule(fact)
        _place(row, changed)
        if changed:
            StoredBlock.objects.invalidate(row, facts=[fact.pk for fact in changed], now=now)
            log(row, actor, Event.Action.EDIT, now, facts=[fact.pk for fact in changed])
    if changed:
        block_writer.refresh(bank.pk, now=now)
    return len(changed)


@at_present
def add(
    bank: Bank,
    *,
    text: str,
    kind: str = Fact.Kind.FACT,
    pinned: bool = True,
    actor: str,
    now: datetime = PRESENT,
) -> Fact:
    """A fact by hand: a turn of ``actor`` in a chat of its own, so it is cited, found and erased like any other.

    Raises :class:`InvalidInput`, also if memory is off.
    """
    new = NewOutput(uuid4().hex, actor, _writable(text), now, title=TITLE)
    try:
        with transaction.atomic():
            output, _chat = recording.record(bank, new, now=now)
            fact = summarising.write_by_hand(output.chat, kind=kind, now=now)
            # Whoever may let a line pass that reads like an instruction may write one.
            fact.released_by = actor[:200] if quarantine.reason(fact.text) else ""
            fact.edited_by, fact.edited_at, fact.pinned = actor[:200], now, pinned
            fact.save()
            log(bank, actor, Event.Action.ADD, now, facts=[fact.pk])
    except OutdatedWork as error:
        raise InvalidInput(_("Memory is off in this project.")) from error
    block_writer.refresh(bank.pk, now=now)
    return fact


def _decide(
    bank: Bank, fact_ids: Collection[int], action: Event.Action, actor: str, now: datetime, **values: Any
) -> int:
    """Set something of those facts that are not so yet, and render anew; how many those were."""
    with _held(bank, fact_ids) as (row, facts):
        changed = [fact for fact in facts if fact.pinned != values["pinned"]]
        _update(changed, **values)
        _place(row, changed)
        if changed:
            Bank.objects.filter(pk=row.pk).update(version=F("version") + 1, compress_at=now)
            log(row, actor, action, now, facts=[fact.pk for fact in changed])
    if changed:
        block_writer.refresh(bank.pk, now=now)
    return len(changed)


def _writable(text: str) -> str:
    """What somebody wrote by hand, as one line of memory."""
    line = escape(storable(text))
    if not any(map(str.isalnum, line)):
        raise InvalidInput(_("text: write something first."))
    if len(line) > MOST:
        raise InvalidInput(
            _("text: %(has)s characters, at most %(most)s are allowed.")
            % {"has": grouped(len(line)), "most": grouped(MOST)}
        )
    return line


def _masked(bank: Bank, text: str) -> str:
    """Without secrets, which are known from now on."""
    masker = MaskedValue.objects.masker(bank)
    masked = masker.again(masker.mask(text))
    remask.learn(bank, masker)
    return masked


def _put_right(fact: Fact, text: str, actor: str, now: datetime) -> None:
    """Have the fact say something else, under the name of who wrote it, or again what it said first."""
    back, name = text == fact.original, display_name(actor)
    before, speaker = fact.said_first, fact.original_speaker if fact.original else fact.speaker
    fact.speaker = speaker if back or speaker == name else f"{name}, correcting {speaker}" if speaker else name
    fact.original, fact.original_speaker = ("", "") if back else (before, speaker)
    by_nobody = back and fact.entry.method != BY_HAND
    fact.edited_by, fact.edited_at = ("", None) if by_nobody else (actor[:200], now)
    _say(fact, text)


def _say(fact: Fact, text: str) -> None:
    """Set what the fact says. It is worth no less than before, and whatever replaced it does so no more."""
    encoding = conf.current().encoding
    size = tokens.count(text, encoding)
    Entry.objects.filter(pk=fact.entry_id).update(tokens=F("tokens") + size - fact.tokens)
    fact.text, fact.tokens, fact.superseded_by = text, size, None
    fact.weight = max(fact.weight, extraction.weigh(text, encoding=encoding))
    fact.save()


def _overrule(line: Fact) -> None:
    """Of what an edited line of a digest rests on, replace what says the same, or what was taken out of it."""
    line.sources.filter(superseded_by=line).update(superseded_by=None)
    if not line.original:
        return
    said = frozenset(terms(line.original))
    taken_out = said - frozenset(terms(line.text))
    below = line.sources.filter(pinned=False, edited_by="")
    words = {pk: frozenset(terms(text)) for pk, text in below.values_list("pk", "text")}
    over = [pk for pk, own in words.items() if says(own, said) or not taken_out.isdisjoint(own)]
    below.filter(pk__in=over).update(superseded_by=line)


@contextmanager
def _held(bank: Bank, fact_ids: Collection[int]) -> Iterator[tuple[Bank, list[Fact]]]:
    """The bank, held until the end, and these facts of it. Raises ``Fact.DoesNotExist`` if one is not there."""
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        facts = list(row.facts.filter(pk__in=fact_ids).select_related("entry").order_by("pk"))
        if missing := set(fact_ids) - {fact.pk for fact in facts}:
            raise Fact.DoesNotExist(f"no such facts: {sorted(missing)}")
        yield row, facts


def _update(facts: Iterable[Fact], **values: Any) -> None:
    Fact.objects.filter(pk__in=[fact.pk for fact in facts]).update(**values)


def _take_along(line: Fact) -> list[int]:
    """Hide what a digest's line rests on, which says the same; their ids."""
    shown = line.sources.filter(hidden=False)
    along = list(shown.values_list("pk", flat=True))
    shown.update(hidden=True, hidden_with=line)
    return along


def _bring_back(bank: Bank, lines: Iterable[Fact]) -> None:
    """Show what was hidden with these lines, but for what another hidden line rests on, too."""
    along = bank.facts.filter(hidden_with__in=[line.pk for line in lines]).values_list("pk", flat=True)
    back = bank.facts.filter(pk__in=list(along))
    others = FactSource.objects.filter(source=OuterRef("pk"), fact__hidden=True).order_by(
        "fact__entry", "fact__position"
    )
    back.update(hidden_with=Subquery(others.values("fact")[:1]))
    back.filter(hidden_with=None).update(hidden=False)


def _place(bank: Bank, facts: Iterable[Fact]) -> None:
    """Lines of absorbed digests stand where the live digest above does, while a person holds them; else nowhere."""
    absorbed = {fact.pk: fact.entry for fact in facts if fact.entry.parent_id and not fact.entry.is_leaf}
    settled = set(bank.facts.settled().filter(pk__in=absorbed).values_list("pk", flat=True))
    for pk, entry in absorbed.items():
        *_below, live = entry.upwards()
        bank.facts.filter(pk=pk).update(tier=live.tier if pk in settled else None)

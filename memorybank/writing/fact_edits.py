"""Edit single facts by hand: a person's decision outranks the model's, and the audit log records it.

Every function raises ``Fact.DoesNotExist``, and changes nothing, if an id is not of the bank.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils.translation import gettext as _

from memorybank import hooks
from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.erasure import requests, withdrawal
from memorybank.exceptions import InvalidInput, OutdatedWork
from memorybank.hooks import Change
from memorybank.i18n import grouped
from memorybank.indexing import block_writer, remask
from memorybank.indexing.fact_replacement import replaced_by, supersede_again, supersede_edited
from memorybank.indexing.invalidation import invalidate
from memorybank.models import Bank, Event, Fact, MaskedValue
from memorybank.new_output import NewOutput, storable
from memorybank.safety import quarantine
from memorybank.safety.escaping import escape
from memorybank.writing import recording, summarising
from memorybank.writing.fact_store import hide_sources, set_quarantine, show_sources
from memorybank.writing.fact_wording import edit_detail, release_reasons, reword

#: The maximum length of a fact written by hand.
MAX_FACT_CHARACTERS = 1_000
#: Title of the chat that holds a fact written by hand.
CHAT_TITLE = "Written by hand"


@at_present
def hide(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Hide facts from every prompt at once, a digest's line with its sources; return how many are newly hidden.

    A model that summarises the same turns later does not bring them back.
    """
    with _locked_facts(bank, fact_ids) as (row, facts):
        own = [fact for fact in facts if not fact.hidden or fact.hidden_with_id]
        _update_facts(own, hidden=True, hidden_with=None)
        hidden = [fact.pk for fact in own] + [pk for line in own for pk in hide_sources(line)]
        supersede_again(row, replaced_by(row.facts.filter(pk__in=hidden)))
        if own:
            invalidate(row, facts=hidden, now=now)
            requests.settle(row, [fact.pk for fact in own], actor, now)
            log(row, actor, Event.Action.HIDE, now, facts=[fact.pk for fact in own])
    return len(own)


@at_present
def restore(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Show hidden facts again, a digest's line with the sources hidden with it; return how many facts were hidden."""
    with _locked_facts(bank, fact_ids) as (row, facts):
        own = [fact for fact in facts if fact.hidden]
        _update_facts(own, hidden=False, hidden_with=None)
        show_sources(row, own)
        _update_tiers(row, own)
        if own:
            invalidate(row, now=now)
            log(row, actor, Event.Action.SHOW, now, facts=[fact.pk for fact in own])
    return len(own)


@at_present
def release(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Release quarantined facts permanently; return how many were quarantined.

    The next sweep shows them, and has the digests rewritten that were made without them.
    """
    with _locked_facts(bank, fact_ids) as (row, facts):
        quarantined = [fact for fact in facts if fact.quarantine]
        _update_facts(quarantined, quarantine="", released_by=actor[:200], quarantine_confirmed_by="")
        if quarantined:
            entries = row.entries.filter(pk__in=[fact.entry_id for fact in quarantined])
            row.entries.live().filter(pk__in=[digest.pk for digest in entries.above()]).update(outdated=True)
            invalidate(row, now=now)
        for fact in quarantined:
            log(row, actor, Event.Action.RELEASE, now, fact=fact.pk, reason=fact.quarantine)
    return len(quarantined)


@at_present
def withdraw_release(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Quarantine released facts again, for the reason that they were released from; return how many were released."""
    with _locked_facts(bank, fact_ids) as (row, facts):
        reasons = release_reasons(row, facts)
        withdrawn = [fact for fact in facts if fact.pk in reasons]
        for fact in withdrawn:
            set_quarantine(fact, reasons[fact.pk])
            fact.released_by = ""
            fact.save()
        if withdrawn:
            invalidate(row, facts=[fact.pk for fact in withdrawn], now=now)
            log(row, actor, Event.Action.KEEP, now, facts=[fact.pk for fact in withdrawn], undone=True)
    return len(withdrawn)


@at_present
def confirm_quarantine(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Confirm the quarantine of facts, so that nobody need review them again; return how many were unreviewed."""
    with _locked_facts(bank, fact_ids) as (row, facts):
        confirmed = [fact for fact in facts if fact.quarantine and not fact.quarantine_confirmed_by]
        _update_facts(confirmed, quarantine_confirmed_by=actor[:200])
        if confirmed:
            log(row, actor, Event.Action.KEEP, now, facts=[fact.pk for fact in confirmed])
    return len(confirmed)


@at_present
def pin(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Show facts in every block, whatever their weight and whatever superseded them; return how many were unpinned."""
    return _set_pinned(bank, fact_ids, Event.Action.PIN, actor, now, pinned=True, superseded_by=None)


@at_present
def unpin(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime = PRESENT) -> int:
    """Let facts compete for the budget again; return how many were pinned."""
    return _set_pinned(bank, fact_ids, Event.Action.UNPIN, actor, now, pinned=False)


@at_present
def edit_facts(
    bank: Bank,
    *,
    fact_ids: Collection[int],
    text: str,
    actor: str,
    screened: bool = False,
    expected: str | None = None,
    now: datetime = PRESENT,
) -> int:
    """Give facts that say the same a new ``text``, in the name of ``actor``; return how many changed.

    The original text is kept, with its citations; writing it again undoes the edit. Facts that say what was corrected
    are superseded: the sources of a digest's line, or what the same turns gave. Lines of digests that rest on a
    corrected fact are withdrawn until they are rewritten. With ``screened`` the new text may be quarantined, like a
    model's text. Raises :class:`InvalidInput`, also if a fact does not say what is ``expected``.
    """
    with _locked_facts(bank, fact_ids, expected) as (row, facts):
        text = _mask(row, _clean_text(text))
        changed = [fact for fact in facts if fact.text != text]
        detail = edit_detail(changed, text)
        for fact in changed:
            reword(fact, text, actor, now, quarantine.reason(text) if screened else "")
        _finish_edit(row, changed, actor, now, **detail)
        hooks.notify(row.pk, Change.LINE_HELD_BACK, [fact.pk for fact in changed if fact.quarantine and screened])
    if changed:
        block_writer.refresh(bank.pk, now=now)
    return len(changed)


@at_present
def restore_original(
    bank: Bank,
    *,
    fact_ids: Collection[int],
    actor: str,
    own: bool = False,
    expected: str | None = None,
    now: datetime = PRESENT,
) -> int:
    """Undo the edits of facts: give them their original text and speaker back; return how many were edited.

    An approval counts only for the text that it was given to, so an original that needs one is quarantined again.
    Raises :class:`InvalidInput` if a fact does not say what is ``expected`` or, with ``own``, if others edited it last.
    """
    with _locked_facts(bank, fact_ids, expected, editor=actor[:200] if own else "") as (row, facts):
        edited = [fact for fact in facts if fact.original]
        reasons = release_reasons(row, edited)
        for fact in edited:
            reword(fact, fact.original, actor, now, quarantine.reason(fact.original) or reasons.get(fact.pk, ""))
        _finish_edit(row, edited, actor, now, undone=True)
        hooks.notify(row.pk, Change.LINE_HELD_BACK, [fact.pk for fact in edited if fact.quarantine])
    if edited:
        block_writer.refresh(bank.pk, now=now)
    return len(edited)


@at_present
def add_fact(
    bank: Bank,
    *,
    text: str,
    kind: str = Fact.Kind.FACT,
    pinned: bool = True,
    actor: str,
    screened: bool = False,
    metadata: Mapping[str, Any] | None = None,
    now: datetime = PRESENT,
) -> Fact:
    """Add a fact by hand: it is a turn of ``actor`` in its own chat, so it is cited, found and erased like any other.

    With ``screened`` it may be quarantined, like a model's text; otherwise ``actor`` is responsible for it. Raises
    :class:`InvalidInput`, also if memory is off.
    """
    words = _clean_text(text)
    new = NewOutput(uuid4().hex, actor, words, now, title=CHAT_TITLE, metadata=metadata or {}, private=False)
    try:
        with transaction.atomic():
            output, _chat = recording.record(bank, new, now=now)
            fact = summarising.write_by_hand(output.chat, kind=kind, now=now)
            reason = quarantine.reason(fact.text)
            set_quarantine(fact, reason if screened else "")
            # A person who may release a quarantined line may also write one.
            fact.released_by = actor[:200] if reason and not screened else ""
            fact.edited_by, fact.edited_at, fact.pinned = actor[:200], now, pinned
            fact.save()
            hooks.notify(bank.pk, Change.LINE_HELD_BACK, [fact.pk] if fact.quarantine else [])
            log(bank, actor, Event.Action.ADD, now, facts=[fact.pk])
    except OutdatedWork as error:
        raise InvalidInput(_("Memory is off in this project.")) from error
    block_writer.refresh(bank.pk, now=now)
    return fact


def _set_pinned(
    bank: Bank, fact_ids: Collection[int], action: Event.Action, actor: str, now: datetime, **values: Any
) -> int:
    """Set ``values`` on the facts whose pin changes, and render the block; return their number."""
    with _locked_facts(bank, fact_ids) as (row, facts):
        changed = [fact for fact in facts if fact.pinned != values["pinned"] or fact.pinned_for]
        _update_facts(changed, **values, pinned_for=None)
        _update_tiers(row, changed)
        if changed:
            Bank.objects.touch(row.pk, consolidate_at=now)
            log(row, actor, action, now, facts=[fact.pk for fact in changed])
            supersede_again(row, [fact.pk for fact in changed if not values["pinned"]])
    if changed:
        block_writer.refresh(bank.pk, now=now)
    return len(changed)


def _clean_text(text: str) -> str:
    """Text written by hand, as one line of memory."""
    line = escape(storable(text))
    if not any(map(str.isalnum, line)):
        raise InvalidInput(_("text: write something first."))
    if len(line) > MAX_FACT_CHARACTERS:
        has, most = grouped(len(line)), grouped(MAX_FACT_CHARACTERS)
        raise InvalidInput(_("text: %(has)s characters, at most %(most)s are allowed.") % {"has": has, "most": most})
    return line


def _mask(bank: Bank, text: str) -> str:
    """The text with its secrets masked; the bank masks these secrets everywhere from now on."""
    masker = MaskedValue.objects.masker(bank)
    masked = masker.mask_learnt(masker.mask(text))
    remask.learn(bank, masker)
    return masked


def _finish_edit(bank: Bank, facts: Sequence[Fact], actor: str, now: datetime, **detail: Any) -> None:
    """What follows from the new text of these facts. The caller holds the bank's lock."""
    ids = [fact.pk for fact in facts]
    about = withdrawal.lines_about(ids).values_list("pk", flat=True)
    lines = set(about)  # with those about facts that the edit no longer supersedes
    supersede_edited(bank, facts)
    _update_tiers(bank, facts)
    lines = withdrawal.review(Fact.objects.filter(pk__in=lines.union(about.all())))
    if facts:
        invalidate(bank, facts=[*ids, *lines], now=now)
        requests.settle(bank, ids, actor, now)
        log(bank, actor, Event.Action.EDIT, now, facts=ids, **detail)


@contextmanager
def _locked_facts(
    bank: Bank, fact_ids: Collection[int], expected: str | None = None, *, editor: str = ""
) -> Iterator[tuple[Bank, list[Fact]]]:
    """The bank, locked until the end, and these facts of it. Raises ``Fact.DoesNotExist`` if one is missing.

    Raises :class:`InvalidInput` if a fact does not say what is ``expected``, or was edited last by another ``editor``.
    """
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        facts = list(row.facts.filter(pk__in=fact_ids).select_related("entry").order_by("pk"))
        if missing := set(fact_ids) - {fact.pk for fact in facts}:
            raise Fact.DoesNotExist(f"no such facts: {sorted(missing)}")
        is_as_expected = all(expected in (None, fact.text) for fact in facts)
        if not is_as_expected or any(fact.original and editor not in ("", fact.edited_by) for fact in facts):
            raise InvalidInput(_("Somebody has changed the line since."))
        yield row, facts


def _update_facts(facts: Iterable[Fact], **values: Any) -> None:
    Fact.objects.filter(pk__in=[fact.pk for fact in facts]).update(**values)


def _update_tiers(bank: Bank, facts: Iterable[Fact]) -> None:
    """Set the tier of absorbed digests' lines: the live digest's while a person's decision holds, otherwise none."""
    absorbed = {fact.pk: fact.entry for fact in facts if fact.entry.parent_id and not fact.entry.is_leaf}
    decided = set(bank.facts.decided_by_person().filter(pk__in=absorbed).values_list("pk", flat=True))
    for pk, entry in absorbed.items():
        *_below, live = entry.upwards()
        bank.facts.filter(pk=pk).update(tier=live.tier if pk in decided else None)

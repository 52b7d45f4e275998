"""Change a bank's settings, its chats' audiences and its opt-outs: validated, and recorded in the audit log."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.erasure import cascade, past_lines
from memorybank.erasure.narrowed_quotes import mark_quotes
from memorybank.erasure.turn_words import TurnWords
from memorybank.exceptions import DisclosureRequired, InvalidInput
from memorybank.indexing import block_writer, remask
from memorybank.models import CARRIED, Bank, Chat, ChatReader, Event, OptOut, Output, SearchDocument
from memorybank.models.bank import LONG_DUE
from memorybank.models.chat import OutputQuerySet
from memorybank.new_output import storable
from memorybank.quoted_words import words_of_chat

MAX_FOCUS_CHARACTERS = 1000
RETENTION_SETTINGS = ("keep_turns_days", "keep_memory_days")
CONFIGURABLE_FIELDS = (
    *("max_tokens", "recall_tokens", "personal_tokens", "new_chats_private"),
    *("idle_minutes", "timezone", "focus", "redact_personal", "monthly_cap"),
    *RETENTION_SETTINGS,
)
#: Settings that change how a turn is masked or dated, so its search documents must be built again.
REINDEXING_SETTINGS = {"timezone", "redact_personal"}


@at_present
def enable(
    bank: Bank, *, actor: str, disclosure_accepted: bool, history: bool = False, now: datetime = PRESENT
) -> None:
    """Switch memory on: from now on, or with ``history`` also for the turns that memory has left out so far.

    Raises :class:`DisclosureRequired` unless the disclosure is accepted now or was before; person and time are stored.
    """
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        if not (disclosure_accepted or row.disclosure_accepted_at):
            raise DisclosureRequired(_("The privacy disclosure must be read and accepted before memory is on."))
        if disclosure_accepted and not row.disclosure_accepted_at:
            row.disclosure_accepted_by, row.disclosure_accepted_at = actor[:200], now
        before = Output.objects.before_memory(row)
        taken_in = _include_history(row, before) if history else 0
        if not row.enabled:
            left_out = 0 if history else before.filter(predates_memory=False).update(predates_memory=True)
            row.enabled, row.consolidate_at, row.version = True, now, row.version + 1
            counts = {"left_out": left_out, "taken_in": taken_in}
            log(row, actor, Event.Action.ENABLE, now, **{name: count for name, count in counts.items() if count})
        elif taken_in:
            log(row, actor, Event.Action.ENABLE, now, taken_in=taken_in)
        row.save()
        Chat.objects.schedule(row)
        Chat.objects.reindex(row)
    bank.refresh_from_db()


def _include_history(bank: Bank, before: OutputQuerySet) -> int:
    """Include the turns from before memory was on; return their number. Summaries that span them are rebuilt."""
    count, covered = before.count(), before.filter(predates_memory=True, sequence__lte=F("chat__summarised_through"))
    chats = Chat.objects.filter(pk__in=set(covered.values_list("chat", flat=True))).remembered()
    bank.entries.leaves().filter(chat__in=chats).update(stale=True)
    chats.update(stale=True, indexed_through=0)
    before.filter(predates_memory=True).update(predates_memory=False)
    return count


@at_present
def disable(bank: Bank, *, actor: str, now: datetime = PRESENT) -> None:
    """Switch memory off: nothing is summarised or shown. Stored memory is kept and used again once memory is on."""
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        if row.enabled:
            row.enabled, row.off_after = False, row.last_sequence
            row.save(update_fields=["enabled", "off_after"])
            log(row, actor, Event.Action.DISABLE, now)
        Chat.objects.schedule(row)
        Chat.objects.reindex(row)
    bank.refresh_from_db()


@at_present
def configure(bank: Bank, *, actor: str, now: datetime = PRESENT, **changes: Any) -> None:
    """Change settings. Raises :class:`InvalidInput`, which names field and limit, and then changes nothing."""
    if set(changes) - set(CONFIGURABLE_FIELDS):
        raise InvalidInput(f"An unknown setting; known are {', '.join(CONFIGURABLE_FIELDS)}.")
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        before = {name: getattr(row, name) for name in changes}
        changed = {name: value for name, value in changes.items() if before[name] != value}
        for name, value in changed.items():
            setattr(row, name, value)
        _require_valid(row)
        if changed:
            row.version, row.consolidate_at = row.version + 1, now
            row.expire_at = now if any(getattr(row, name) for name in RETENTION_SETTINGS) else None
            row.save()
            Chat.objects.schedule(row)
            if not REINDEXING_SETTINGS.isdisjoint(changed):
                _reset_index(row)
            if changed.get("redact_personal"):
                remask.mask_all(row)
            if changed.get("max_tokens", 0) > before.get("max_tokens", 0):
                _lengthen_digests(row)
            was = {name: before[name] for name in changed}
            log(row, actor, Event.Action.CONFIGURE, now, changed=sorted(changed), before=was, after=changed)
    bank.refresh_from_db()
    if changed:
        block_writer.refresh(bank.pk, now=now)


def _lengthen_digests(bank: Bank) -> None:
    """Have the live digests that a model wrote for a smaller budget written again; until then sentences fill the room.

    Without a model they stay as they are.
    """
    digests = bank.entries.digests().written().exclude(method=CARRIED)
    digests.visible_to().filter(parent=None).update(stale=True)


@at_present
def set_audience(
    bank: Bank,
    *,
    chat_key: str,
    readers: Collection[str] | None,
    actor: str,
    dry_run: bool = False,
    now: datetime = PRESENT,
) -> Counter[str]:
    """Set who may read a chat's memory: everybody in the project (``None``), these persons, or nobody (an empty list).

    Facts that others may no longer read leave every prompt at once, and the block's history until the chat is shared
    again. People's decisions on the chat's facts stay, unless nobody may read them: then its memory is deleted. The
    chat's turns stay in any case. Returns the counts of what was deleted; with ``dry_run`` nothing changes. Raises
    ``Chat.DoesNotExist``.
    """
    people, counts, words = set(readers or ()), Counter[str](), TurnWords.of(bank)
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        chat = Chat.objects.select_for_update().get(bank=row, key=chat_key)
        was_public, before = not chat.private, set(chat.readers.values_list("person", flat=True))
        if (was_public, before) != (readers is None, people):
            chat.private = readers is not None
            chat.readers.exclude(person__in=people).delete()
            ChatReader.objects.bulk_create(ChatReader(chat=chat, person=person) for person in people - before)
            chat.save(update_fields=["private"])
            facts, said = set[int](), words_of_chat(chat) if was_public else frozenset[str]()
            # Only a chat with one reader makes memory from answers that quote private memory.
            if len(before) == 1 and people != before and chat.outputs.filter(quotes_private=True).exists():
                cascade.remove_quotes(row, chat, words, counts)
            held = chat.key if people else ""  # what nobody may read is deleted
            if was_public:
                past_lines.take_out_digests(chat.entries.all(), counts, withheld_for=held)
            if chat.private and not people:
                facts = cascade.remove_chat(row, chat, counts)
            elif chat.private:
                facts = cascade.detach_chat(row, chat, counts)
            else:
                cascade.attach_chat(row, chat, counts)
                row.line_versions.release(chat.key)
            if was_public:
                quoting = mark_quotes(row, chat, said)
                facts |= cascade.remove_outputs(row, quoting, words, counts, withheld_for=held)
                outputs = {chat.pk: {}, **quoting}
                cascade.remove_from_blocks(
                    row, counts, facts=facts, outputs=outputs, chats=[chat.key], now=now, withheld_for=held
                )
            else:  # no block has its lines; the new epoch stops summaries in progress from writing
                Bank.objects.touch(row.pk, epoch=F("epoch") + 1, consolidate_at=LONG_DUE)
        action = Event.Action.PUBLIC if readers is None else Event.Action.PRIVATE
        log(row, actor, action, now, chat=chat.pk, **({"readers": len(people)} if people else {}))
        transaction.set_rollback(dry_run)
    if readers is None and not dry_run:  # the block has the chat's lines again at once
        block_writer.refresh(bank.pk, now=now)
    return counts


@at_present
def opt_out(bank: Bank, *, author: str, out: bool = True, actor: str, now: datetime = PRESENT) -> None:
    """Exclude a person from memory from now on, with everything derived from their words; or include them again.

    Their turns stay in their chats. Turns that they write while opted out never become memory, not even later.
    """
    if not author:
        raise InvalidInput("author: must not be empty.")
    counts, words = Counter[str](), TurnWords.of(bank)
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        OptOut.objects.update_or_create(bank=row, author=author, defaults={"until": None if out else now})
        if out:
            cascade.exclude_author(row, author, words, counts, now)
        log(row, actor, Event.Action.OPT_OUT if out else Event.Action.OPT_IN, now, facts=counts["facts"])
    block_writer.refresh(bank.pk, now=now)


@at_present
def retry_parked(bank: Bank, *, actor: str, chat_key: str = "", now: datetime = PRESENT) -> int:
    """Retry the parked chats, or only the named one; return their number."""
    parked = Chat.objects.filter(bank=bank).parked()
    parked = parked.filter(key=chat_key) if chat_key else parked
    with transaction.atomic():
        Bank.objects.lock(bank.pk)
        count = parked.retry(now)
        if count:
            log(bank, actor, Event.Action.RETRY, now, chats=count)
    return count


def _reset_index(bank: Bank) -> None:
    """Delete a bank's search documents and schedule them to be built again."""
    SearchDocument.objects.filter(bank=bank).delete()
    Chat.objects.filter(bank=bank).update(indexed_through=0)
    Chat.objects.reindex(bank)


def _require_valid(bank: Bank) -> None:
    for name in ("timezone", "focus"):
        if not isinstance(getattr(bank, name), str) or storable(getattr(bank, name)) != getattr(bank, name):
            raise InvalidInput(f"{name}: must be text, without a NUL character or half a surrogate pair.")
    if bank.timezone not in available_timezones():
        raise InvalidInput("timezone: this is not a known time zone, such as Europe/Berlin.")
    if len(bank.focus) > MAX_FOCUS_CHARACTERS:  # Django checks a text field's length in forms only
        raise InvalidInput(f"focus: {len(bank.focus):,} characters, at most {MAX_FOCUS_CHARACTERS:,} are allowed.")
    try:
        bank.clean_fields(exclude=[f.name for f in bank._meta.fields if f.name not in CONFIGURABLE_FIELDS])
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise InvalidInput(f"{field}: {messages[0]}") from error

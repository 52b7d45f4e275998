"""The words of an edited fact: a person's, or the original ones, with what follows from them on the fact itself."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import F

from memorybank import conf
from memorybank.core import extraction, state_changes
from memorybank.core.extraction.kinds import is_question
from memorybank.language import tokens
from memorybank.models import BY_HAND, Bank, Entry, Event, Fact
from memorybank.safety.naming import display_name
from memorybank.writing.fact_store import set_quarantine

#: Kinds that follow the form of an edited text, a question or a statement. A decision stays one in other words.
KINDS_OF_FORM = (Fact.Kind.QUESTION, Fact.Kind.FACT)


def release_reasons(bank: Bank, facts: Iterable[Fact]) -> dict[int, str]:
    """Why the released ones of these facts were quarantined."""
    released = [fact.pk for fact in facts if fact.released_by and not fact.quarantine]
    events = bank.events.filter(action=Event.Action.RELEASE, detail__fact__in=released)
    return {event.detail["fact"]: event.detail["reason"] for event in events.order_by("pk")}  # the newest one counts


def edit_detail(facts: Iterable[Fact], text: str) -> dict[str, Any]:
    """What the audit log says of an edit to ``text`` beside the facts.

    ``kinds`` of unedited facts that do not follow from their text, for when it is given back; ``retyped`` if somebody
    wrote the original text again.
    """
    facts = list(facts)
    retyped = {"retyped": True} if any(fact.original == text for fact in facts) else {}
    kinds = {
        str(fact.pk): fact.kind
        for fact in facts
        if not fact.original and fact.kind in KINDS_OF_FORM and fact.kind != _kind_by_form(fact.text)
    }
    return {**retyped, **({"kinds": kinds} if kinds else {})}


def reword(fact: Fact, text: str, actor: str, now: datetime, reason: str) -> None:
    """Give the fact another text in the editor's name, or its original text, speaker and kind back.

    With a ``reason`` it is quarantined.
    """
    is_undo, name = text == fact.original, display_name(actor)
    before, speaker = fact.original_text, fact.original_speaker if fact.original else fact.speaker
    if is_undo or speaker == name:
        fact.speaker = speaker
    else:
        fact.speaker = f"{name}, correcting {speaker}" if speaker else name
    fact.original, fact.original_speaker = ("", "") if is_undo else (before, speaker)
    by_nobody = is_undo and fact.entry.method != BY_HAND
    fact.edited_by, fact.edited_at = ("", None) if by_nobody else (actor[:200], now)
    if reason:
        set_quarantine(fact, reason)
        fact.released_by = ""
        fact.quarantine_confirmed_by = fact.quarantine_confirmed_by if is_undo else ""
    if fact.kind in KINDS_OF_FORM and is_question(fact.text) != is_question(text):
        fact.kind = _kind_by_form(text)
    if is_undo:
        fact.kind = _logged_kind(fact) or fact.kind
    _set_text(fact, text)


def _kind_by_form(text: str) -> str:
    return Fact.Kind.QUESTION if is_question(text) else Fact.Kind.FACT


def _logged_kind(fact: Fact) -> str:
    """The kind that the fact had before it was edited, if that does not follow from its text; otherwise ""."""
    key = str(fact.pk)
    event = fact.bank.events.filter(action=Event.Action.EDIT, detail__kinds__has_key=key).order_by("-pk").first()
    return event.detail["kinds"][key] if event else ""


def _set_text(fact: Fact, text: str) -> None:
    """Set the fact's text. Its weight does not fall, and nothing supersedes it any more."""
    encoding = conf.current().encoding
    size = tokens.count(text, encoding)
    Entry.objects.filter(pk=fact.entry_id).update(tokens=F("tokens") + size - fact.tokens)
    fact.text, fact.tokens, fact.superseded_by = text, size, None
    fact.weight = max(fact.weight, extraction.weigh(text, encoding=encoding))
    fact.ongoing, fact.changing = state_changes.is_ongoing(text), state_changes.tells_of_change(text)
    fact.save()

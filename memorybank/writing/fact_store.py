"""Store an entry's facts without duplicates and without facts that a person overruled; select a digest's sources."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import OuterRef, Q, Subquery

from memorybank import conf, hooks, prepared
from memorybank.core import state_changes
from memorybank.core.turns import ASSISTANT_SPEAKER, OWN_PREFERENCE, DraftFact
from memorybank.hooks import Change
from memorybank.language import tokens
from memorybank.language.repetition import tells_of_others
from memorybank.models import Bank, Entry, Fact, FactSource, KeptFact
from memorybank.reading.recall.visibility import is_same_statement, stating
from memorybank.safety.quoting import after_speaker
from memorybank.safety.reasons import is_normative


def write_facts(entry: Entry, drafts: Iterable[DraftFact], *, kept: list[Fact]) -> list[Fact]:
    """Store ``drafts`` that the facts ``kept`` (the entry's own or others) do not repeat; return the new facts.

    Sets the entry's tokens. A draft that repeats a fact which a person hid or edited is not written again.
    """
    encoding = conf.current().encoding
    known_texts = {fact.text for fact in kept}
    overruled = [fact for fact in kept if fact.entry_id == entry.pk and (fact.hidden or fact.edited_by)]
    position = max((fact.position for fact in kept if fact.entry_id == entry.pk), default=-1)
    new = []
    drafts = [draft for draft in drafts if draft.text not in known_texts]
    repeated = _overruled(drafts, overruled, [fact for fact in kept if not (fact.hidden or fact.edited_by)])
    for place, draft in enumerate(drafts):
        if draft.text not in known_texts and place not in repeated:
            known_texts.add(draft.text)
            position += 1
            new.append(_fact(entry, position, draft, encoding))
    Fact.objects.create_cited(new)
    # Nobody has to review what somebody likes for themselves.
    held_back = [f.pk for f in new if f.quarantine not in ("", OWN_PREFERENCE) and not f.is_private]
    hooks.notify(entry.bank_id, Change.LINE_HELD_BACK, held_back)
    entry.tokens = sum(fact.tokens for fact in [*kept, *new])
    prepared.update([entry], ["tokens"])
    return new


def _overruled(drafts: Sequence[DraftFact], by: Sequence[Fact], others: Sequence[Fact]) -> set[int]:
    """The places of the drafts that repeat, for the same turns, the original text of a fact that a person overruled.

    Of two sentences that were said, a draft may repeat one of the ``others``: it then tells of what the first does not.
    """
    places: set[int] = set()
    for fact in by:
        about = [n for n, draft in enumerate(drafts) if not set(draft.citations).isdisjoint(fact.citations)]
        repeating = [about[place] for place in stating([drafts[n].text for n in about], fact.original_text)]
        beside = [other.text for other in others if other.detail and fact.detail]
        places.update(n for n in repeating if not _repeats_another(drafts[n].text, fact.original_text, beside))
    return places


def _repeats_another(draft: str, overruled: str, beside: Sequence[str]) -> bool:
    return tells_of_others(draft, overruled) and any(is_same_statement(draft, text) for text in beside)


def new_fact(entry: Entry, *, citations: Sequence[int], quarantine: str = "", **values: Any) -> Fact:
    """A new fact of a live entry, in the tier of that entry; to be saved by :meth:`FactQuerySet.create_cited`.

    ``citations`` are output ids (in a leaf) or leaf-fact ids (in a digest).
    """
    fact = Fact(
        bank_id=entry.bank_id,
        entry=entry,
        tier=entry.tier,
        ongoing=state_changes.is_ongoing(values["text"]),
        changing=state_changes.tells_of_change(values["text"]),
        **values,
    )
    fact.citations = list(citations)
    set_quarantine(fact, quarantine)
    return fact


def set_quarantine(fact: Fact, reason: str) -> None:
    """Quarantine the fact for ``reason``; "" ends it. A rule in the assistant's own words is not normative."""
    fact.quarantine = reason[:200]
    fact.normative = is_normative(reason) and fact.speaker != ASSISTANT_SPEAKER


def _fact(entry: Entry, position: int, draft: DraftFact, encoding: str) -> Fact:
    return new_fact(
        entry,
        position=position,
        kind=draft.kind,
        text=draft.text,
        speaker=draft.speaker[:200],
        said_on=draft.said_on,
        tokens=tokens.count(after_speaker(draft.text, bool(draft.reported)), encoding),
        weight=draft.weight,
        detail=draft.detail,
        citations=list(draft.citations),
        quarantine=draft.quarantine,
        reported=draft.reported,
        part=draft.part,
    )


def kept_facts(bank: Bank, children: Sequence[Entry]) -> list[Fact]:
    """The source facts of a digest of ``children``, oldest first: all notes that a model wrote in the leaves below.

    Of extracted leaves: the facts of leaves among ``children``, and the facts that digests among them cite or keep.
    Detail beside a model's notes is left out unless a digest cites or keeps it, because rendering may add it. So are
    rules that wait for an owner, because a digest would not tell whose they are.
    """
    ids = [child.pk for child in children]
    written = bank.entries.filter(pk__in=ids).below().leaves().written()
    cited = set(FactSource.objects.filter(fact__entry__in=ids).values_list("source_id", flat=True))
    cited.update(KeptFact.objects.filter(entry__in=ids).values_list("fact_id", flat=True))
    notes = Q(entry__in=written.values("pk"), detail=False)
    ordered = bank.facts.shareable().filter(quarantine="").order_by("said_on", "entry__last_at", "entry_id", "position")
    facts = list(ordered.filter(notes | Q(entry__in=ids, entry__chat__isnull=False) | Q(pk__in=cited)))
    noted = {fact.entry_id for fact in facts if not fact.detail}
    return [f for f in facts if f.pk in cited or not f.detail or f.entry_id not in noted]


def hide_sources(line: Fact) -> list[int]:
    """Hide the facts that a digest's line rests on; return their ids."""
    shown = line.sources.filter(hidden=False)
    sources = list(shown.values_list("pk", flat=True))
    shown.update(hidden=True, hidden_with=line)
    return sources


def show_sources(bank: Bank, lines: Iterable[Fact]) -> None:
    """Show the sources that were hidden with these lines, except sources of another hidden line."""
    source_ids = bank.facts.filter(hidden_with__in=[line.pk for line in lines]).values_list("pk", flat=True)
    sources = bank.facts.filter(pk__in=list(source_ids))
    hidden = FactSource.objects.filter(source=OuterRef("pk"), fact__hidden=True)
    others = hidden.order_by("fact__entry", "fact__position").values("fact")
    sources.update(hidden_with=Subquery(others[:1]))
    sources.filter(hidden_with=None).update(hidden=False)

"""Roll up entries: write the digest of one period at a time from the facts of its entries.

A model writes each digest from the notes of all chats below it, and from digests only where the notes do not fit one
prompt, so wording drifts at most once or twice. Without a model a digest keeps links to the best facts, and what an
erasure left of a written one stands. Absorbed entries stay, with the digest as their parent.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Case, F, Min, Q, Value, When, prefetch_related_objects

from memorybank import conf, hooks, llm
from memorybank.core import extraction, rollup_policy, transcript
from memorybank.core.granularity import Granularity
from memorybank.core.memory_line import LABEL_TOKENS
from memorybank.core.packing.block import pack
from memorybank.core.rollup_policy import Node, Step
from memorybank.core.turns import DraftFact
from memorybank.core.validation import ParsedLine
from memorybank.erasure import withdrawal
from memorybank.exceptions import LLMError, OutdatedWork
from memorybank.hooks import Change
from memorybank.language import dates
from memorybank.model_calls import budget_cap
from memorybank.model_calls.session import ModelSession, PromptSpec, Purpose, session
from memorybank.models import CARRIED, EXTRACTIVE, STAND_IN_METHOD, Bank, Entry, Fact, KeptFact, MaskedValue
from memorybank.models.ledger import backoff
from memorybank.reading.candidates import leaf_line
from memorybank.writing import jobs
from memorybank.writing.fact_store import kept_facts, write_facts

logger = logging.getLogger(__name__)

#: A period that waits for a chat about to be summarised is checked again after this, whatever happens to the chat.
RECHECK_DELAY = timedelta(minutes=1)
#: Minimum of the word limit in a digest's prompt.
MIN_DIGEST_WORDS = 20
#: How many of the newest digest lines tell how many tokens a word of the next digest takes.
STYLE_LINES = 30
#: The prompt of each digest: the background is ordered by subject, a period by importance.
PROMPTS = {Granularity.BACKGROUND: "background"}


def roll_up(bank_id: int, *, now: datetime) -> int:
    """Roll up closed periods of a bank, oldest first, until it fits its budget; return the number of digests.

    Returns 0 if another worker holds the lease or nothing is due. Raises :class:`LLMError` after releasing the lease;
    finished digests stand, nothing is lost, and the bank is tried again later.
    """
    bank = Bank.objects.claim(bank_id, now)
    if bank is None:
        return 0
    done = 0
    # Work that stops early is due again at once.
    outcome: dict[str, Any] = {"attempts": 0, "last_error": "", "consolidate_at": now}
    try:
        while step := _next_step(bank, now):
            _digest(bank, step, now)
            done += 1
            jobs.after_digest(bank, now)
        outcome["consolidate_at"] = _next_check(bank, now)
    except OutdatedWork as reason:
        logger.info("bank %s: roll-up stopped: %s", bank_id, reason)
    except Exception as error:
        attempts = bank.attempts + 1
        message = str(error) if isinstance(error, LLMError) else type(error).__name__
        outcome = {"attempts": attempts, "last_error": message[:500], "consolidate_at": now + backoff(attempts)}
        raise
    finally:
        bank.release(**outcome)
    return done


def _next_step(bank: Bank, now: datetime) -> Step | None:
    """The digest to write next, or None. Records it if the monthly cap is what stops the bank."""
    stale = bank.entries.to_rebuild()
    if stale and (not _is_written() or budget_cap.stop_at_cap(bank, now)):  # written lines wait for the model
        stale = [digest for digest in stale if digest.parent_id or not digest.has_notes]
    if stale:
        return Step(Granularity(stale[0].granularity), stale[0].period_start, (), stale[0].pk)
    frontier = bank.entries.all().frontier()
    if not _is_over_budget(bank, frontier) or budget_cap.stop_at_cap(bank, now) or _waits_for_model(bank):
        return None
    plan = rollup_policy.due_periods
    if _is_written():
        plan = partial(rollup_policy.due_written, prompt_tokens=conf.current().digest_input_tokens)
    return next(iter(plan(frontier, now, bank.tz, waiting=_oldest_due_chat(bank, now))), None)


def _is_written() -> bool:
    """Whether a model writes digests."""
    return llm.get("summary") is not None


def _oldest_due_chat(bank: Bank, now: datetime) -> datetime | None:
    """The earliest end among the chats due at ``now``; None if none is due."""
    oldest: datetime | None = bank.chats.due(now).aggregate(oldest=Min("last_output_at"))["oldest"]
    return oldest


def _is_over_budget(bank: Bank, frontier: Sequence[Node]) -> bool:
    pressure = rollup_policy.WRITTEN_SHARE if _is_written() else conf.current().pressure
    return rollup_policy.over_budget(frontier, bank.max_tokens, pressure)


def _waits_for_model(bank: Bank) -> bool:
    """Whether the model has to rebuild an entry first that was extracted during an outage."""
    return bank.entries.live().filter(stale=True, method=STAND_IN_METHOD).exists()


def _next_check(bank: Bank, now: datetime) -> Case | None:
    """The next ``consolidate_at``: when time alone may make a digest due; None while the bank fits its budget.

    If the bank's version changed meanwhile, its ``consolidate_at`` stays.
    """
    seen = Bank.objects.filter(pk=bank.pk).values_list("version", flat=True).first()
    frontier = bank.entries.all().frontier()
    check_at = None
    if _is_over_budget(bank, frontier) and not budget_cap.forbids_calls(bank, now) and not _waits_for_model(bank):
        check_at = rollup_policy.next_due(frontier, now, bank.tz, written=_is_written())
        if _oldest_due_chat(bank, now):  # a period may wait for that chat
            check_at = min(check_at or now + RECHECK_DELAY, now + RECHECK_DELAY)
    field = Bank._meta.get_field("consolidate_at")
    return Case(When(version=seen, then=Value(check_at, output_field=field)), default=F("consolidate_at"))


@dataclass(frozen=True, slots=True)
class DigestSources:
    """The input of a digest: all its future children, and the leaf facts below them, oldest first."""

    children: list[Entry]
    facts: list[Fact]


@dataclass(frozen=True, slots=True)
class DerivedDigest:
    """The content of a digest: lines written for it, leaf facts that it keeps; if it ``stands``, beside what it has."""

    method: str
    kept: list[Fact] = field(default_factory=list)
    written: list[DraftFact] = field(default_factory=list)
    dropped_lines: int = 0
    left_out: int = 0
    stands: bool = False


@dataclass(frozen=True, slots=True)
class DigestItem:
    """One item of a digest's prompt: a leaf fact or a digest's line, with the leaf facts that it is or rests on."""

    text: str
    tokens: int
    said_on: date
    facts: tuple[int, ...]


def _digest(bank: Bank, step: Step, now: datetime) -> None:
    sources = _sources(bank, step)
    standing = bank.entries.filter(pk=step.digest or 0).first()
    size = sum(fact.tokens for fact in sources.facts)
    target = _target_tokens(bank, step, size)
    stands = standing is not None and standing.has_notes and not _is_written()
    if (size <= target and not stands) or step.passes:
        derived = DerivedDigest(CARRIED, sources.facts)
    elif standing and standing.parent_id:  # no prompt shows its own lines
        derived = _without_model(bank, step, standing, sources, target)
    else:
        with session(bank, now) as opened:
            derived = _derive(opened, bank, step, sources, target) or _without_model(
                bank, step, standing, sources, target
            )
        if not opened and derived.method == EXTRACTIVE:
            derived = replace(derived, method=budget_cap.method())
    _commit(bank, step, sources, derived)


def _target_tokens(bank: Bank, step: Step, size: int) -> int:
    if step.granularity is Granularity.BACKGROUND:
        return rollup_policy.background_tokens(bank.entries.all().frontier(), step, bank.max_tokens)
    if _is_written():
        return rollup_policy.written_tokens(step.granularity, bank.max_tokens, size, bank.entries.all().noted_tokens())
    return rollup_policy.digest_tokens(step.granularity, bank.max_tokens, size)


def _sources(bank: Bank, step: Step) -> DigestSources:
    older = bank.entries.visible_to().filter(parent=step.digest) if step.digest else bank.entries.none()
    ids = {*step.children, *older.values_list("pk", flat=True)}
    children = list(bank.entries.filter(pk__in=ids).in_order())
    return DigestSources(children, kept_facts(bank, children))


def _derive(
    opened: ModelSession | None, bank: Bank, step: Step, sources: DigestSources, target: int
) -> DerivedDigest | None:
    """The digest as the model writes it; None without a model, or if it writes nothing."""
    if opened is None:
        return None
    notes = _notes(bank, step, sources)
    drafts = [_to_draft(line, notes) for line in _ask_model(opened, bank, step, notes, target)]
    if not drafts:
        return None
    return DerivedDigest(opened.method(), [], drafts, len(opened.dropped), len(opened.left_out))


def _without_model(
    bank: Bank, step: Step, standing: Entry | None, sources: DigestSources, target: int
) -> DerivedDigest:
    """A written digest as it stands, beside it the best facts of what joins it; for any other digest, the best facts.

    Only a model replaces what a model wrote.
    """
    if standing is None or not standing.has_notes:
        return DerivedDigest(EXTRACTIVE, _best_facts(sources.facts, target))
    joining = kept_facts(bank, [child for child in sources.children if child.pk in step.children])
    beside = _best_facts(joining, max(target - standing.tokens, rollup_policy.MIN_DIGEST_TOKENS))
    return DerivedDigest(standing.method, beside, [], standing.dropped_lines, standing.left_out, stands=True)


def _notes(bank: Bank, step: Step, sources: DigestSources) -> list[DigestItem]:
    """All notes if they fit one prompt; otherwise the lines of the finer digests, and of the existing digest."""
    if sum(fact.tokens + LABEL_TOKENS for fact in sources.facts) <= conf.current().digest_input_tokens:
        return [DigestItem(fact.text, fact.tokens, fact.said_on, (fact.pk,)) for fact in sources.facts]
    new = [child.pk for child in sources.children if child.pk in step.children]
    entries = [*new, step.digest] if step.digest else new
    lines = Q(entry__in=entries, detail=False) | Q(kept_links__entry__in=entries)
    facts = bank.facts.shareable().filter(lines).distinct().select_related("entry").with_citations()
    return [
        DigestItem(fact.text, fact.tokens, fact.said_on, (fact.pk,) if fact.entry.is_leaf else tuple(fact.citations))
        for fact in facts.order_by("entry__first_at", "entry_id", "position")
    ]


def _best_facts(facts: Sequence[Fact], target: int) -> list[Fact]:
    """The facts of the highest weight within ``target`` tokens, in their order."""
    prefetch_related_objects(facts, "output_links")
    chosen = {line.facts[0] for line in pack([leaf_line(fact) for fact in facts], target, reserve=False).lines}
    return [fact for fact in facts if fact.pk in chosen]


def _ask_model(
    opened: ModelSession, bank: Bank, step: Step, notes: Sequence[DigestItem], target: int
) -> list[ParsedLine]:
    """Ask for the digest, in several parts if one call cannot read all notes."""
    settings = conf.current()
    shown = transcript.numbered(
        (f"({dates.format_date(n.said_on)}) {n.text}" for n in notes), encoding=settings.encoding
    )
    parts = transcript.chunks(shown, settings.digest_input_tokens, encoding=settings.encoding)
    words = max(MIN_DIGEST_WORDS, int(target / _tokens_per_word(bank, step, notes)) // len(parts))
    newest = dates.format_date(max(note.said_on for note in notes))
    named = f"{step.granularity.label.lower()} {step.granularity.period.key(step.period_start)}"
    period = f"time until {newest}" if step.granularity is Granularity.BACKGROUND else named
    context = {"focus": bank.focus, "period": period}
    prompt = PromptSpec(PROMPTS.get(step.granularity, "digest"), words, context=context)
    return [line for part in parts for line in opened.ask(Purpose.DIGEST, prompt, part)]


def _tokens_per_word(bank: Bank, step: Step, notes: Sequence[DigestItem]) -> float:
    """The average of what a model wrote in digests of this granularity, else in any digest, else of these notes."""
    lines = bank.facts.filter(entry__in=bank.entries.digests()).order_by("-pk").values_list("text", "tokens")
    written = lines.filter(entry__granularity=step.granularity)[:STYLE_LINES] or lines[:STYLE_LINES]
    return rollup_policy.tokens_per_word(list(written) or [(note.text, note.tokens) for note in notes])


def _to_draft(line: ParsedLine, notes: Sequence[DigestItem]) -> DraftFact:
    cited = [notes[int(label) - 1] for label in line.labels]
    return DraftFact(
        kind=line.kind,
        text=line.text,
        speaker="",
        said_on=max(note.said_on for note in cited),
        citations=tuple(dict.fromkeys(fact for note in cited for fact in note.facts)),
        weight=extraction.weigh(line.text, encoding=conf.current().encoding),
        quarantine=line.quarantine,
    )


def _commit(bank: Bank, step: Step, sources: DigestSources, derived: DerivedDigest) -> None:
    """Compare and swap: raise :class:`OutdatedWork` if a child has changed or something was erased meanwhile."""
    with transaction.atomic():
        leased = Bank.objects.select_for_update().filter(pk=bank.pk, lease_token=bank.lease_token, epoch=bank.epoch)
        if not leased.exists():
            raise OutdatedWork("the lease was lost, or something was erased")
        _require_unchanged(bank, step, sources)
        _require_uncorrected(bank, sources.facts)
        kept = list({fact.text: fact for fact in reversed(derived.kept)}.values())[::-1]  # the first of each text
        digest = _digest_row(bank, step, sources)
        digest.method, digest.stale, digest.outdated = derived.method, False, False
        digest.dropped_lines, digest.left_out = derived.dropped_lines, derived.left_out
        digest.save()
        if derived.stands:
            KeptFact.objects.add(digest.pk, [fact.pk for fact in kept])
        else:
            if digest.parent_id is None:
                withdrawal.forget_withdrawn(bank.entries.filter(pk__in=[digest.pk, *step.children]))
            _write_lines(bank, digest, kept, derived.written)
        bank.entries.filter(pk__in=step.children).absorb_into(digest)
        if kept and derived.stands:
            bank.entries.filter(pk=digest.pk).prune()  # counts the tokens of what it keeps now
        hooks.notify(bank.pk, Change.ENTRY_WRITTEN, [digest.pk])
        Bank.objects.touch(bank.pk)


def _write_lines(bank: Bank, digest: Entry, kept: list[Fact], written: list[DraftFact]) -> None:
    """Replace the facts that a digest keeps, and its lines, except those that a person decided on."""
    KeptFact.objects.replace(digest.pk, [fact.pk for fact in kept])
    Fact.objects.filter(pk__in=[line.pk for line in digest.facts.all() if not line.decided_by_person]).delete()
    masker = MaskedValue.objects.masker(bank)  # with secrets learned during the model call
    drafts = [replace(draft, text=masker.mask(draft.text)) for draft in written]
    write_facts(digest, drafts, kept=[*kept, *digest.facts.all()])


def _require_unchanged(bank: Bank, step: Step, sources: DigestSources) -> None:
    ids = [child.pk for child in sources.children]
    rows = bank.entries.select_for_update().filter(pk__in=ids).values_list("pk", "parent", "last_output", "updates")
    now = {pk: rest for pk, *rest in rows}
    read = {child.pk: [child.parent_id, child.last_output, child.updates] for child in sources.children}
    if now != read or any(now[pk][0] is not None for pk in step.children):
        raise OutdatedWork("an entry was extended or rolled up meanwhile")


def _require_uncorrected(bank: Bank, facts: Sequence[Fact]) -> None:
    edited = dict(bank.facts.filter(edited_at__isnull=False).values_list("pk", "edited_at"))
    if any(edited.get(fact.pk) != fact.edited_at for fact in facts):
        raise OutdatedWork("a note was corrected meanwhile")


def _digest_row(bank: Bank, step: Step, sources: DigestSources) -> Entry:
    """The period's existing digest or a new one, covering its sources; not saved yet."""
    digest = bank.entries.filter(Q(parent=None) | Q(stale=True), pk=step.digest or 0).first()
    if step.digest and digest is None:
        raise OutdatedWork("the digest was rolled up meanwhile")
    if digest is None:
        period = {"granularity": step.granularity, "period_start": step.period_start}
        withdrawal.forget_empty(bank.entries.digests().filter(output_count=0, **period))
        digest = Entry(bank=bank, **period)
    digest.output_count = sum(child.output_count for child in sources.children)
    digest.first_at = min(child.first_at for child in sources.children)
    digest.last_at = max(child.last_at for child in sources.children)
    return digest

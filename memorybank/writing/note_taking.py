"""Turns → notes: the model's facts, and extracted ones beside them as free detail. Reads no table.

By size: one pass; or chunks in parallel, pre-emptively (several short calls beat one long one) or
because one call cannot read it all. AgentFlocks' compaction is the model for this.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

from memorybank import conf
from memorybank.core import extraction, transcript, value_changes
from memorybank.core.transcript import SourceItem
from memorybank.core.turns import STEERS_ASSISTANT, DraftFact, Turn
from memorybank.core.validation import ParsedLine
from memorybank.language import dates
from memorybank.language.sentences import names_in, tidy
from memorybank.language.terms import terms
from memorybank.model_calls.session import ModelSession, PromptSpec, Purpose, run_parallel
from memorybank.models import EXTRACTIVE, Bank, Fact
from memorybank.safety import quarantine
from memorybank.safety.escaping import escape
from memorybank.safety.redaction import redact
from memorybank.writing import note_merging


class Strategy(Enum):
    """How a transcript of some size is read."""

    SINGLE = "single pass"
    PREEMPTIVE = "chunks, because they are faster"
    REQUIRED = "chunks, because one call cannot read it"


@dataclass(frozen=True, slots=True)
class TakenNotes:
    """What was noted of some turns. ``replaced`` are known facts whose place a new one takes."""

    drafts: list[DraftFact] = field(default_factory=list)
    method: str = "nothing was said"
    replaced: frozenset[int] = frozenset()
    provisional: bool = False


def strategy(size: int) -> Strategy:
    """The strategy for a transcript of ``size`` tokens."""
    now = conf.current()
    if size <= now.chunk_from_tokens:
        return Strategy.SINGLE
    return Strategy.PREEMPTIVE if size <= now.input_tokens else Strategy.REQUIRED


def take(session: ModelSession | None, bank: Bank, turns: Sequence[Turn], known: Sequence[Fact]) -> TakenNotes:
    """Notes of ``turns``, extending the ``known`` facts of the same chat."""
    planned = transcript.undated_items(turns, encoding=conf.current().encoding) if session else []
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="detail") as pool:  # while the model thinks
        detail, changes = pool.submit(_detail, turns), pool.submit(value_changes.changes, turns)
        said = pool.submit(_as_shown, turns if session else [])
        notes = _ask_for_notes(session, bank, turns, planned, known) if session else TakenNotes(method=EXTRACTIVE)
    told = _without_quotations(notes.drafts, detail.result(), turns, said.result())
    drafts = value_changes.mark_changes(_without_steering(told), changes.result())
    fine = {draft.text for draft in detail.result() if not draft.quarantine}  # no need to be screened again
    return replace(notes, drafts=[draft if draft.text in fine else _screened(draft) for draft in drafts])


def as_written(turn: Turn, kind: str) -> DraftFact:
    """A turn that is one fact, in the words in which somebody wrote it down for memory."""
    said = turn.utterances[0]
    text = escape(dates.resolve(said.text, turn.at.date()))
    weight = extraction.weigh(text, encoding=conf.current().encoding)
    return DraftFact(kind, text, said.speaker, turn.at.date(), (turn.id,), weight)


def _without_steering(drafts: Sequence[DraftFact]) -> list[DraftFact]:
    """What a model calls an instruction is held back, and so is all else that stands on its turns alone."""
    steering = {turn for draft in drafts if draft.quarantine == STEERS_ASSISTANT for turn in draft.citations}
    held = [steering.issuperset(draft.citations) and not draft.quarantine for draft in drafts]
    return [
        replace(draft, quarantine=STEERS_ASSISTANT) if by else draft for draft, by in zip(drafts, held, strict=True)
    ]


def _as_shown(turns: Sequence[Turn]) -> dict[int, list[str]]:
    """What a model was shown of each turn, by its id, each utterance on one line."""
    return {
        turn.id: [" ".join(dates.resolve(u.text, turn.at.date()).split()) for u in turn.utterances] for turn in turns
    }


def _without_quotations(
    written: Sequence[DraftFact],
    extracted: Sequence[DraftFact],
    turns: Sequence[Turn],
    shown: Mapping[int, Sequence[str]],
) -> list[DraftFact]:
    """The model's facts and the extracted ones, in the order of their turns. Where a model only quotes, what was
    extracted there stands for its line: nothing of the sentence is cut off, its dates are absolute, and of a
    greeting nothing is left."""
    names = names_in({u.speaker for turn in turns for u in turn.utterances})
    told, found = [], list(extracted)
    for draft in written:
        if not _quotes(draft, shown):
            told.append(draft)
            continue
        about = set(terms(tidy(draft.text, names)))
        akin = [at for at, other in enumerate(found) if set(other.citations) <= set(draft.citations) and other.detail]
        same = max(akin, key=lambda at: len(about & set(terms(found[at].text))), default=None)
        if same is not None and 2 * len(about & set(terms(found[same].text))) > len(about):
            found[same] = replace(found[same], kind=draft.kind, citations=draft.citations, detail=False)
        elif about:
            told.append(draft)
    return sorted(told + found, key=lambda draft: min(draft.citations))


def _quotes(draft: DraftFact, shown: Mapping[int, Sequence[str]]) -> bool:
    """Whether the draft is a piece of what the model was shown of the turns that it cites."""
    said = draft.text.rstrip(".… ")
    return not draft.quarantine and any(said in text for turn in draft.citations for text in shown.get(turn, ()))


def _detail(turns: Sequence[Turn]) -> list[DraftFact]:
    now = conf.current()
    extracted = extraction.extract(turns, share=now.detail_share, encoding=now.encoding)
    directing = {
        (turn.id, u.speaker): why
        for turn in turns
        for u in turn.utterances
        if not u.by_machine() and (why := quarantine.reason_in_message(u.text, u.speaker))
    }
    return [_screened(replace(draft, detail=True, quarantine=_why(draft, directing))) for draft in extracted]


def _why(draft: DraftFact, directing: Mapping[tuple[int, str], str]) -> str:
    """Why a sentence is held back with the whole message it stands in; "" if the message tells a model nothing."""
    return next((why for turn in draft.citations if (why := directing.get((turn, draft.speaker), ""))), "")


def _screened(draft: DraftFact) -> DraftFact:
    """Held back if it reads like an instruction to a model, whoever wrote it down."""
    return replace(draft, quarantine=draft.quarantine or quarantine.reason(draft.text))


def _ask_for_notes(
    session: ModelSession, bank: Bank, turns: Sequence[Turn], planned: list[SourceItem], known: Sequence[Fact]
) -> TakenNotes:
    size = sum(item.tokens for item in planned)
    if strategy(size) is Strategy.SINGLE:
        shown = transcript.resolve_dates(planned, turns, encoding=conf.current().encoding)
        return _single_pass(session, bank, turns, shown, known)
    with session.hold_gate():
        return _in_chunks(session, bank, turns, planned)


def _single_pass(
    session: ModelSession, bank: Bank, turns: Sequence[Turn], shown: list[SourceItem], known: Sequence[Fact]
) -> TakenNotes:
    held = _held(known)
    prompt = _prompt(bank, known=bool(held))
    lines = session.ask(Purpose.SUMMARY, prompt, [*(item for _, item in held.values()), *shown])
    cited = {label: fact for label, (fact, _) in held.items()}
    replaced = frozenset(cited[label].pk for line in lines for label in line.labels if label in cited)
    drafts = [_draft(line, bank, turns, cited) for line in lines]
    return TakenNotes(drafts, session.method(), replaced)


def _held(known: Sequence[Fact]) -> dict[str, tuple[Fact, SourceItem]]:
    """The known facts as items F1, F2, …: the newest that fit into a quarter of what a call reads."""
    room = conf.current().input_tokens // 4
    newest: list[Fact] = []
    for fact in reversed(known):
        room -= fact.tokens + 8  # its label and date
        if room < 0:
            break
        newest.insert(0, fact)
    return {
        f"F{number}": (
            fact,
            SourceItem(f"F{number}", f"({dates.format_date(fact.said_on)}) {fact.text}", fact.tokens + 8),
        )
        for number, fact in enumerate(newest, start=1)
    }


def _in_chunks(session: ModelSession, bank: Bank, turns: Sequence[Turn], planned: list[SourceItem]) -> TakenNotes:
    now = conf.current()
    chunks = transcript.even_chunks(
        planned, now.chunk_tokens, width=now.concurrency, limit=now.input_tokens, encoding=now.encoding
    )

    def read(chunk: Sequence[SourceItem]) -> list[ParsedLine]:
        shown = transcript.resolve_dates(
            chunk, turns, encoding=now.encoding
        )  # here, so that the first wave need not wait
        return session.ask(Purpose.CHUNK, _prompt(bank), shown)

    came = run_parallel([partial(read, chunk) for chunk in chunks])
    answers = [answer for answer in came if isinstance(answer, list)]  # extraction covers the turns of the others
    lines = note_merging.merged(session, bank, [line for answer in answers for line in answer])
    drafts = [_draft(line, bank, turns, {}) for line in lines]
    return TakenNotes(drafts, session.method(), provisional=len(answers) < len(chunks))


def _prompt(bank: Bank, *, known: bool = False) -> PromptSpec:
    now = conf.current()
    return PromptSpec("summarise", now.lines_per_call, now.words_per_call, {"focus": bank.focus, "known": known})


def _draft(line: ParsedLine, bank: Bank, turns: Sequence[Turn], known: dict[str, Fact]) -> DraftFact:
    """A validated line as a fact that cites outputs, masked once more."""
    told = [turns[int(label) - 1] for label in line.labels if label not in known]
    held = [known[label] for label in line.labels if label in known]
    citations = {turn.id for turn in told} | {output for fact in held for output in fact.citations}
    days = {turn.at.date() for turn in told} | {fact.said_on for fact in held}
    names = names_in({u.speaker for turn in turns for u in turn.utterances})
    speaker, text = transcript.split_speaker(line.text, days, {u.speaker for turn in told for u in turn.utterances})
    return DraftFact(
        kind=line.kind,
        text=redact(text, personal=bank.redact_personal).text,
        speaker=speaker or transcript.notes_speaker(_authors(told, held)),
        said_on=max(days),
        citations=tuple(sorted(citations)),
        weight=extraction.weigh(text, encoding=conf.current().encoding, names=names),
        quarantine=line.quarantine,
    )


def _authors(told: Sequence[Turn], held: Sequence[Fact]) -> list[str]:
    """Who wrote the turns, and said the facts, that a line rests on."""
    return [
        *(fact.speaker for fact in held),
        *(u.speaker for turn in told for u in turn.utterances if u.role == "user"),
    ]

"""Turn a transcript into draft facts: the model's facts, with extracted ones as detail. Reads no table.

A short transcript is read in one call; a longer one as chunks in parallel, either because several short calls are
faster than a long one, or because one call cannot read everything. Each later chunk is shown how the chat began and
how the chunk before it ended. Modelled on AgentFlocks' compaction.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

from memorybank import conf
from memorybank.core import extraction, transcript, value_changes
from memorybank.core.extraction import kinds, remnants
from memorybank.core.transcript import SourceItem
from memorybank.core.turns import ASSISTANT_SPEAKER, OWN_PREFERENCE, STEERS_ASSISTANT, DraftFact, Turn
from memorybank.core.validation import ParsedLine
from memorybank.exceptions import LLMError
from memorybank.language import dates
from memorybank.language.sentences import names_in
from memorybank.language.work_cache import once_per_work
from memorybank.model_calls.session import ModelSession, PromptSpec, Purpose, parallel_parts, run_parallel
from memorybank.models import EXTRACTIVE, NO_TEXT_METHOD, Bank, Fact
from memorybank.safety import quarantine
from memorybank.safety.escaping import escape
from memorybank.safety.quoting import name_words
from memorybank.safety.reasons import Reported
from memorybank.safety.redaction import redact
from memorybank.writing import note_merging

PREFERENCE = Fact.Kind.PREFERENCE.value
#: Words that the notes may have, even of the shortest transcript.
MIN_NOTE_WORDS = 30
#: What a later chunk is shown of the chat before it, as a share of a chunk.
BEFORE_SHARE = 1 / 8


class Strategy(Enum):
    """How a transcript is read, depending on its size."""

    SINGLE = "single pass"
    PREEMPTIVE = "chunks, because they are faster"
    REQUIRED = "chunks, because one call cannot read it"


@dataclass(frozen=True, slots=True)
class TakenNotes:
    """The facts noted from some turns.

    ``replaced`` are ids of known facts that new ones replace; ``dropped_lines`` counts the model's lines that failed
    validation. ``failure`` is why the facts were extracted and the model has to write them once more.
    """

    drafts: list[DraftFact] = field(default_factory=list)
    method: str = NO_TEXT_METHOD
    replaced: frozenset[int] = frozenset()
    provisional: bool = False
    dropped_lines: int = 0
    failure: LLMError | None = None


def choose_strategy(size: int) -> Strategy:
    """The strategy for a transcript of ``size`` tokens."""
    settings = conf.current()
    if size <= settings.chunk_from_tokens:
        return Strategy.SINGLE
    return Strategy.PREEMPTIVE if size <= settings.input_tokens else Strategy.REQUIRED


def take_notes(
    session: ModelSession | None,
    bank: Bank,
    turns: Sequence[Turn],
    known: Sequence[Fact],
    beside: Executor,
    *,
    detail: bool = True,
) -> TakenNotes:
    """Take notes of ``turns``, extending the ``known`` facts of the same chat.

    With ``detail``, sentences that are extracted ``beside`` the model's calls are added to its notes; without a model
    the sentences are the notes.
    """
    extract = partial(copy_context().run, _extract_detail, tuple(turns))
    if session is None:  # the sentences may have been begun beside calls that failed
        return TakenNotes(_finished([], beside.submit(extract).result(), turns), EXTRACTIVE)
    sentences = beside.submit(extract) if detail else None
    planned = transcript.undated_items(turns, encoding=conf.current().encoding)
    notes = _ask_for_notes(session, bank, turns, planned, known)
    if notes.provisional and not sentences:
        sentences = beside.submit(extract)
    drafts = _finished(notes.drafts, sentences.result() if sentences else [], turns)
    return replace(notes, drafts=drafts, dropped_lines=len(session.dropped))


def _finished(written: Sequence[DraftFact], detail: Sequence[DraftFact], turns: Sequence[Turn]) -> list[DraftFact]:
    """Notes, then detail, with value changes marked and instructions to the assistant quarantined."""
    drafts = [*written, *sorted(detail, key=lambda draft: min(draft.citations))]
    bound = _bind_preferences(_quarantine_steering_turns(drafts), turns)
    marked = value_changes.mark_changes(bound, value_changes.changes(turns))
    fine = {draft.text for draft in detail if not draft.quarantine}  # screened already
    return [draft if draft.text in fine else _screen(draft) for draft in marked]


def fact_as_written(turn: Turn, kind: str) -> DraftFact:
    """A turn as one fact, in the words that a person wrote for memory."""
    utterance = turn.utterances[0]
    text = escape(dates.resolve(utterance.text, turn.at.date()))
    weight = extraction.weigh(text, encoding=conf.current().encoding)
    return DraftFact(kind, text, utterance.speaker, turn.at.date(), (turn.id,), weight)


def _quarantine_steering_turns(drafts: Sequence[DraftFact]) -> list[DraftFact]:
    """Quarantine also every draft that rests only on turns which the model marked as instructions."""
    steering = {turn for draft in drafts if draft.quarantine == STEERS_ASSISTANT for turn in draft.citations}
    is_steering = [steering.issuperset(draft.citations) and not draft.quarantine for draft in drafts]
    return [
        replace(draft, quarantine=STEERS_ASSISTANT) if steers else draft
        for draft, steers in zip(drafts, is_steering, strict=True)
    ]


def _bind_preferences(drafts: Sequence[DraftFact], turns: Sequence[Turn]) -> list[DraftFact]:
    """Keep for its author alone a preference of one person that a model noted, and the sentences it was noted from.

    Like an instruction, it binds only its author (decision 0050). A preference of several people, or about
    somebody else, is shown to everybody.
    """
    people = {turn.id: {u.speaker for u in turn.utterances if u.role == "user"} for turn in turns}
    own = {
        turn for draft in drafts if not draft.detail and _is_own_preference(draft, people) for turn in draft.citations
    }
    return [
        replace(draft, quarantine=OWN_PREFERENCE)
        if draft.kind == PREFERENCE and own.issuperset(draft.citations) and not draft.quarantine
        else draft
        for draft in drafts
    ]


def _is_own_preference(draft: DraftFact, people: Mapping[int, set[str]]) -> bool:
    """Whether the turns of a preference are one person's, whom the line names."""
    authors = set().union(*(people.get(turn, set()) for turn in draft.citations))
    named = not name_words(authors).isdisjoint(name_words([draft.text])) or draft.speaker in authors
    return draft.kind == PREFERENCE and len(authors) == 1 and named


@once_per_work
def _extract_detail(turns: tuple[Turn, ...]) -> list[DraftFact]:
    settings = conf.current()
    extracted = extraction.extract(turns, share=settings.detail_share, encoding=settings.encoding)
    judged = _judge_messages(turns)
    steering = {turn for (turn, _), message in judged.items() if message.quarantine}
    drafts = []
    for draft in remnants.without_repetitions(extracted):
        own = [judged[turn, draft.speaker] for turn in draft.citations if (turn, draft.speaker) in judged]
        draft = replace(draft, detail=True, quarantine=_quarantine_reason(draft, own))
        draft = _screen(draft, steering=not steering.isdisjoint(draft.citations))
        if own and not draft.quarantine:
            draft = replace(draft, reported=own[0].reported)
        drafts.append(draft)
    return remnants.without_remnants(drafts, turns)


@dataclass(frozen=True, slots=True)
class MessageJudgement:
    """Why a person's message is quarantined as a whole ("": it is not), and whether its sentences are reports."""

    quarantine: str
    reported: Reported


def _judge_messages(turns: Sequence[Turn]) -> dict[tuple[int, str], MessageJudgement]:
    """The judgement of each message of a person, by turn and speaker; of several by the last, but for a reason."""
    judged: dict[tuple[int, str], MessageJudgement] = {}
    for turn in turns:
        for utterance in turn.utterances:
            if utterance.by_machine() or utterance.role == "tool":
                continue
            key = turn.id, utterance.speaker
            reason = quarantine.reason_in_message(utterance.text)
            if not reason and key in judged:
                reason = judged[key].quarantine
            judged[key] = MessageJudgement(reason, quarantine.reported(utterance.text, utterance.speaker))
    return judged


def _quarantine_reason(draft: DraftFact, messages: Sequence[MessageJudgement]) -> str:
    """Why a sentence is quarantined with one of its messages, or as what its author likes; "" if it need not be."""
    if reason := next((message.quarantine for message in messages if message.quarantine), ""):
        return reason
    is_own = draft.speaker != ASSISTANT_SPEAKER and kinds.prefers_form_of_answers(draft.text)
    return OWN_PREFERENCE if is_own else ""


def _screen(draft: DraftFact, *, steering: bool = True) -> DraftFact:
    """Quarantine the draft if it must not be shown to everybody.

    A model's advice is not a rule, unless a message of its turns is ``steering``: then the model may be repeating it.
    """
    advice = draft.speaker == ASSISTANT_SPEAKER and not steering
    judge = quarantine.reason_of_machine if advice else quarantine.reason
    return replace(draft, quarantine=draft.quarantine or judge(draft.text))


def _ask_for_notes(
    session: ModelSession, bank: Bank, turns: Sequence[Turn], planned: list[SourceItem], known: Sequence[Fact]
) -> TakenNotes:
    size = sum(item.tokens for item in planned)
    if choose_strategy(size) is Strategy.SINGLE:
        shown = transcript.resolve_dates(planned, turns, encoding=conf.current().encoding)
        return _single_pass(session, bank, turns, shown, known)
    with session.hold_gate():
        return _chunked_pass(session, bank, turns, planned)


def _single_pass(
    session: ModelSession, bank: Bank, turns: Sequence[Turn], shown: list[SourceItem], known: Sequence[Fact]
) -> TakenNotes:
    items = _known_items(known)
    prompt = _prompt_spec(bank, shown, known=bool(items))
    lines = session.ask(Purpose.SUMMARY, prompt, [*(item for _, item in items.values()), *shown])
    cited = {label: fact for label, (fact, _) in items.items()}
    replaced = frozenset(cited[label].pk for line in lines for label in line.labels if label in cited)
    drafts = [_to_draft(line, bank, turns, cited) for line in lines]
    return TakenNotes(drafts, session.method(), replaced)


def _known_items(known: Sequence[Fact]) -> dict[str, tuple[Fact, SourceItem]]:
    """The known facts as items F1, F2, …: the newest that fit a quarter of a call's input."""
    tokens_left = conf.current().input_tokens // 4
    newest: list[Fact] = []
    for fact in reversed(known):
        tokens_left -= fact.tokens + 8  # its label and date
        if tokens_left < 0:
            break
        newest.insert(0, fact)
    return {
        f"F{number}": (
            fact,
            SourceItem(f"F{number}", f"({dates.format_date(fact.said_on)}) {fact.text}", fact.tokens + 8),
        )
        for number, fact in enumerate(newest, start=1)
    }


def _chunked_pass(session: ModelSession, bank: Bank, turns: Sequence[Turn], planned: list[SourceItem]) -> TakenNotes:
    settings = conf.current()
    room = int(settings.chunk_tokens * BEFORE_SHARE)
    chunks = parallel_parts(planned, settings.input_tokens - room)
    openings = transcript.before_each(chunks, room, encoding=settings.encoding)

    def read(chunk: Sequence[SourceItem], earlier: Sequence[SourceItem]) -> list[ParsedLine]:
        resolve = partial(transcript.resolve_dates, turns=turns, encoding=settings.encoding)
        before, shown = resolve(earlier), resolve(chunk)  # in the thread, so that the first chunks need not wait
        return session.ask(Purpose.CHUNK, _prompt_spec(bank, shown, before=bool(before)), shown, before=before)

    results = run_parallel([partial(read, *parts) for parts in zip(chunks, openings, strict=True)])
    answers = [result for result in results if isinstance(result, list)]  # extraction covers the failed chunks
    lines = note_merging.merge_lines(session, bank, [line for answer in answers for line in answer])
    parts = {item.label: part for part, chunk in enumerate(chunks) for item in chunk}
    drafts = [
        replace(_to_draft(line, bank, turns, {}), part=max(parts[label] for label in line.labels)) for line in lines
    ]
    return TakenNotes(drafts, session.method(), provisional=len(answers) < len(chunks))


def _prompt_spec(bank: Bank, shown: Sequence[SourceItem], *, known: bool = False, before: bool = False) -> PromptSpec:
    """The prompt for these items, with a word limit that grows with their tokens, within bounds."""
    settings = conf.current()
    size = sum(item.tokens for item in shown)
    # Talk of two chunks that one call reads may be noted in as many words as if it were read in two.
    most = int(settings.words_per_call * max(1, size / settings.chunk_tokens))
    words = min(MIN_NOTE_WORDS + int(size * settings.words_per_token), most)
    context = {"focus": bank.focus, "known": known, "before": before}
    return PromptSpec("summarise", words, context=context)


def _to_draft(line: ParsedLine, bank: Bank, turns: Sequence[Turn], known: dict[str, Fact]) -> DraftFact:
    """A validated line as a draft fact that cites outputs, masked again."""
    cited_turns = [turns[int(label) - 1] for label in line.labels if label not in known]
    cited_facts = [known[label] for label in line.labels if label in known]
    citations = {turn.id for turn in cited_turns} | {output for fact in cited_facts for output in fact.citations}
    days = {turn.at.date() for turn in cited_turns} | {fact.said_on for fact in cited_facts}
    names = names_in({u.speaker for turn in turns for u in turn.utterances})
    speakers = {u.speaker for turn in cited_turns for u in turn.utterances}
    speaker, text = transcript.split_speaker(line.text, days, speakers)
    return DraftFact(
        kind=line.kind,
        text=redact(text, personal=bank.redact_personal).text,
        speaker=speaker or transcript.notes_speaker(_authors(cited_turns, cited_facts)),
        said_on=max(days),
        citations=tuple(sorted(citations)),
        weight=extraction.weigh(text, encoding=conf.current().encoding, names=names),
        quarantine=line.quarantine,
    )


def _authors(turns: Sequence[Turn], facts: Sequence[Fact]) -> list[str]:
    """The authors of the turns and facts that a line rests on."""
    return [
        *(fact.speaker for fact in facts),
        *(u.speaker for turn in turns for u in turn.utterances if u.role == "user"),
    ]

"""Turn a chat turn into its search document: the sentences that memory may show, and the words it is found by. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from memorybank.core.extraction.remnants import HeardSentences
from memorybank.core.extraction.salience import Prior
from memorybank.core.turns import Turn, Utterance
from memorybank.language import dates, plain
from memorybank.language.masks import NO_MASK
from memorybank.language.sentences import names_in, sentences, tidy
from memorybank.language.sentences.table_rows import rows_as_sentences
from memorybank.language.terms import word_count
from memorybank.reading.recall.index_terms import MAX_INDEXED_WORDS, content_words, date_words, speaker_words
from memorybank.safety import quarantine
from memorybank.safety.escaping import escape
from memorybank.safety.reasons import NORMATIVE, Reported

#: Maximum of a turn's sentences that are stored to be shown; words of its other sentences are indexed as well.
MAX_DOCUMENT_LINES = 200
#: "[photo: a red bicycle]", "[file: plan.pdf]": text that clients write in place of attachments.
_PLACEHOLDER = re.compile(NO_MASK + r"\[(\w{2,20}): ([^\[\]\n]{1,400})\]")


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """One sentence of a turn. ``worth`` is its prior, 0…1; ``reported``: it is told in its speaker's name."""

    speaker: str
    text: str
    worth: float
    reported: Reported


@dataclass(frozen=True, slots=True)
class Document:
    """A turn, ready to be stored."""

    id: int
    previous: int | None
    said_at: datetime
    lines: tuple[DocumentLine, ...]
    content: tuple[str, ...]
    dates: tuple[str, ...]
    speakers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EarlierTurns:
    """What the documents of turns take from the turns before them in the chat: the last one's id, the speakers."""

    last: int | None = None
    speakers: frozenset[str] = frozenset()


def documents(turns: Sequence[Turn], earlier: EarlierTurns, *, encoding: str) -> list[Document]:
    """The documents of successive turns of one chat, which are masked."""
    prior = Prior(encoding)
    names = names_in(earlier.speakers.union(said.speaker for turn in turns for said in turn.utterances))
    before = [earlier.last, *(turn.id for turn in turns)]
    return [_document(turn, previous, names, prior) for turn, previous in zip(turns, before, strict=False)]


def _document(turn: Turn, previous: int | None, names: frozenset[str], prior: Prior) -> Document:
    day = turn.at.date()
    spoken = [utterance for utterance in turn.utterances if utterance.role != "tool"]
    reasons = [(u, "" if u.by_machine() else quarantine.reason_in_message(u.text)) for u in spoken]
    steering = any(why for _, why in reasons)
    stated = [u for u, why in reasons if why in ("", NORMATIVE)]
    said = (sentence for u in spoken if not u.by_machine() for sentence in sentences(u.text))
    heard = HeardSentences(islice(said, MAX_DOCUMENT_LINES))
    lines = (line for utterance in stated for line in _lines(utterance, turn, names, prior, heard, steering))
    resolved = "\n".join(dates.resolve(plain(utterance.text), day) for utterance in spoken)
    speakers = dict.fromkeys(word for utterance in spoken for word in speaker_words(utterance.speaker))
    return Document(
        id=turn.id,
        previous=previous,
        said_at=turn.at,
        lines=tuple(islice(lines, MAX_DOCUMENT_LINES)),
        content=tuple(content_words(resolved)[:MAX_INDEXED_WORDS]),
        dates=tuple(date_words(day, resolved)[:MAX_INDEXED_WORDS]),
        speakers=tuple(speakers)[:MAX_INDEXED_WORDS],
    )


def _lines(
    utterance: Utterance, turn: Turn, names: frozenset[str], prior: Prior, heard: HeardSentences, steering: bool
) -> Iterable[DocumentLine]:
    """The sentences of an utterance that may be shown to everybody, tidied, dated and escaped.

    What the assistant repeats of the ``heard`` sentences of people is left out: they stand there themselves.
    A model's advice is not a rule, unless a message of the turn is ``steering``: then the model may be repeating it.
    """
    allowed = ("",) if utterance.by_machine() else ("", NORMATIVE)
    judge = quarantine.reason_of_machine if utterance.by_machine() and not steering else quarantine.reason
    reported = Reported.NO if utterance.by_machine() else quarantine.reported(utterance.text, utterance.speaker)
    text = _PLACEHOLDER.sub(lambda match: f"\n({match[1]}: {match[2]})\n", plain(utterance.text))
    for raw in sentences(text if utterance.by_machine() else rows_as_sentences(text)):
        shown = escape(dates.resolve(tidy(raw, names), turn.at.date()))
        if word_count(shown) < 2 or (why := judge(shown)) not in allowed:
            continue
        if utterance.by_machine() and heard.has(shown):
            continue
        worth = prior.weigh(shown, assistant=utterance.by_machine())
        yield DocumentLine(utterance.speaker, shown, worth, Reported.ALWAYS if why else reported)

"""Leave out extracted sentences that are the rest of a message or the assistant's repetition of a person's words."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from memorybank.core.extraction.kinds import is_question
from memorybank.core.turns import ASSISTANT_SPEAKER, DraftFact, Turn
from memorybank.language.repetition import may_repeat
from memorybank.language.sentences import sentences
from memorybank.language.terms import terms
from memorybank.safety.reasons import NORMATIVE

#: A sentence with at most this many content words is a remnant if nothing longer of its message is told.
MAX_REMNANT_TERMS = 3
#: The assistant repeats a person's sentence that contains this part of its own content words.
REPEATED_SHARE = 0.7


def without_remnants(drafts: Sequence[DraftFact], turns: Sequence[Turn]) -> list[DraftFact]:
    """The drafts without short sentences of a message that has longer ones, if others are told none of these."""
    messages: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for turn in turns:
        for utterance in turn.utterances:
            messages[turn.id, utterance.speaker].append(utterance.text)
    shown = {key for draft in drafts if _may_be_shown(draft) and not _is_short(draft.text) for key in _messages(draft)}
    return [
        draft
        for draft in drafts
        if not _is_short(draft.text)
        or not shown.isdisjoint(_messages(draft))
        or all(_is_short(text) for key in _messages(draft) for said in messages[key] for text in sentences(said))
    ]


def without_repetitions(drafts: Sequence[DraftFact]) -> list[DraftFact]:
    """The drafts, in the order in which they were said, without the assistant's repetitions of people's sentences.

    A draft is a repetition if its first sentence is: the others depend on it.
    """
    heard, kept = HeardSentences(), []
    for draft in drafts:
        if draft.speaker != ASSISTANT_SPEAKER:
            heard.add_all(sentences(draft.text))
        elif heard.has(next(iter(sentences(draft.text)), draft.text)):
            continue
        kept.append(draft)
    return kept


class HeardSentences:
    """The sentences of people, to notice where the assistant repeats one."""

    def __init__(self, heard: Iterable[str] = ()) -> None:
        self._heard: list[tuple[str, frozenset[str], bool]] = []
        self.add_all(heard)

    def add_all(self, said: Iterable[str]) -> None:
        """People said these sentences."""
        self._heard += ((sentence, frozenset(terms(sentence)), is_question(sentence)) for sentence in said)

    def has(self, text: str) -> bool:
        """Whether the assistant repeats one of them in ``text``, or after a colon; an answer repeats no question."""
        quotation = text.partition(":")[2]
        asks, words, quoted = is_question(text), frozenset(terms(text)), frozenset(terms(quotation))
        heard = [(said, own) for said, own, asked in self._heard if own and (asks or not asked)]
        return any(
            (0 < REPEATED_SHARE * len(words) <= len(words & own) and may_repeat(text, said))
            or (len(quoted & own) >= REPEATED_SHARE * max(len(quoted), len(own)) and may_repeat(quotation, said))
            for said, own in heard
        )


def _messages(draft: DraftFact) -> set[tuple[int, str]]:
    return {(turn, draft.speaker) for turn in draft.citations}


def _may_be_shown(draft: DraftFact) -> bool:
    """Whether others may see the draft, perhaps as a report."""
    return draft.quarantine in ("", NORMATIVE)


def _is_short(text: str) -> bool:
    return len(terms(text)) <= MAX_REMNANT_TERMS

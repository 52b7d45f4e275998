"""Extract facts without an LLM: the sentences of a chat that are worth keeping, each with its weight."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memorybank.core.extraction.antecedents import leaning_joined
from memorybank.core.extraction.kinds import is_question, kind_of
from memorybank.core.extraction.salience import Prior, Said, weigh, worth
from memorybank.core.turns import Draft, Turn, Utterance
from memorybank.language import every, tokens
from memorybank.language.dates import resolve
from memorybank.language.sentences import has_content, names_in, readable, sentences, tidy
from memorybank.language.terms import FUNCTION, PRAISE, stem, telling, terms, words
from memorybank.safety.escaping import escape

__all__ = ["extract", "weigh"]

ANSWERING = frozenset(every(lambda pack: (*pack.states.own, *pack.talk.answering)))
# The leaf of a very short chat may still hold a fact or two; the leaf of a very long one stays bounded.
LEAST_TOKENS, MOST_TOKENS = 64, 6_000
# Minimum words and content words of a fact: from people, and from an assistant, whose fragments are list items.
FEWEST, FEWEST_OF_ASSISTANT = (3, 2), (5, 3)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One candidate fact with its place in the chat."""

    turn: Turn
    utterance: Utterance
    text: str
    question: str
    position: float

    def stands_alone(self) -> bool:
        """Whether it is long enough to be a fact. The bounds are for words; two CJK characters count as one."""
        least_words, least_terms = FEWEST_OF_ASSISTANT if self.utterance.by_machine() else FEWEST
        return len(words(self.text)) >= least_words and len(terms(self.text)) >= least_terms

    def read(self, prior: Prior) -> Said:
        """The sentence with resolved dates, ready to be weighed."""
        text = resolve(self.text, self.turn.at.date(), replace=True)
        return prior.read(
            text, assistant=self.utterance.by_machine(), answers=bool(self.question), position=self.position
        )


def extract(turns: Sequence[Turn], *, encoding: str, share: float = 0.4, most: int = MOST_TOKENS) -> list[Draft]:
    """The sentences of a chat worth keeping, in order, at most ``share`` of its tokens (and ``most``).

    A very short chat may keep MIN_LEAF_TOKENS whatever the share. Tool output is not read.
    """
    prior = Prior(encoding)
    chat_tokens = sum(
        tokens.count(readable(u.text), encoding) for turn in turns for u in turn.utterances if u.role != "tool"
    )
    limit = min(most, max(LEAST_TOKENS, int(chat_tokens * share)))
    drafts = [draft for sentence in candidates(turns) if (draft := drafted(sentence, prior)) is not None]
    kept: set[int] = set()
    seen: set[str] = set()
    for number in sorted(range(len(drafts)), key=lambda n: (-drafts[n].weight, n)):
        key = " ".join(words(drafts[number].text))
        if key in seen:
            continue
        cost = tokens.count(drafts[number].text, encoding) + 1
        if cost <= limit:
            kept.add(number)
            seen.add(key)
            limit -= cost
        if limit < 6:
            break
    return [drafts[number] for number in sorted(kept)]


def candidates(turns: Sequence[Turn]) -> Iterator[Sentence]:
    """Every sentence of users and assistant, tidied and escaped, with the question before it."""
    names = names_in({u.speaker for turn in turns for u in turn.utterances})
    asked = ""
    for number, turn in enumerate(turns):
        for utterance in turn.utterances:
            if utterance.role == "tool":
                continue
            tidied = [text for raw in sentences(utterance.text) if (text := escape(tidy(raw, names)))]
            texts = list(leaning_joined(tidied))
            answer = next((n for n, text in enumerate(texts) if not is_question(text) and has_content(text)), None)
            for index, text in enumerate(texts):
                question = asked if index == answer else ""
                yield Sentence(turn, utterance, text, question, number / len(turns))
            last = next((text for text in reversed(texts[-2:]) if is_question(text)), "")
            asked = resolve(last, turn.at.date(), replace=True)


def drafted(sentence: Sentence, prior: Prior) -> Draft | None:
    """The sentence as a fact, or None if it is too short."""
    if not sentence.stands_alone():
        return None
    measured = sentence.read(prior)
    return Draft(
        kind=kind_of(measured.text),
        text=paired(sentence.question, measured.text),
        speaker=sentence.utterance.speaker,
        said_on=sentence.turn.at.date(),
        citations=(sentence.turn.id,),
        weight=worth(measured),
        detail=True,
    )


def paired(question: str, answer: str) -> str:
    """A short answer with its question, because it means little alone."""
    if len(terms(answer)) > 3 or len(question) > 60 or not _answers(question, answer):
        return answer
    return f"({question}) {answer}"


def _answers(question: str, answer: str) -> bool:
    """Whether the next sentence seems to answer: it repeats a word, has a number, or begins as answers do or with a
    content word.

    Otherwise it may refer to something before the question: "How is your dog?" "He must be so proud!"
    """
    asked = set(map(stem, telling(question)))
    first_word = next(iter(words(answer.replace("’", "'"))), "").partition("'")[0]  # "he" of "he's"
    tells = first_word in ANSWERING or (first_word not in FUNCTION and first_word not in PRAISE)
    return bool(asked) and (tells or bool(asked & set(terms(answer))) or any(c.isdigit() for c in answer))

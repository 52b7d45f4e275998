"""Extract facts without an LLM: the sentences of a chat that are worth keeping, each with its weight."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memorybank.core.extraction.antecedents import join_dependent
from memorybank.core.extraction.kinds import is_question, is_request, kind_by, without_pleasantries
from memorybank.core.extraction.salience import CAPITALISED, DIGIT, MeasuredSentence, Prior, prior_weight, weigh
from memorybank.core.turns import DraftFact, Turn, Utterance
from memorybank.language import collect, tokens
from memorybank.language.dates import resolve
from memorybank.language.sentences import has_content, names_in, readable, sentences, tidy
from memorybank.language.sentences.table_rows import rows_as_sentences
from memorybank.language.terms import (
    FUNCTION_WORDS,
    PRAISE_WORDS,
    compared_words,
    informative_words,
    stem,
    terms,
    words,
)
from memorybank.safety.escaping import escape

__all__ = ["extract", "weigh"]

ANSWER_WORDS = frozenset(collect(lambda pack: (*pack.states.own, *pack.talk.answering)))
# The leaf of a very short chat may still hold a fact or two; the leaf of a very long one stays bounded.
MIN_LEAF_TOKENS, MAX_LEAF_TOKENS = 64, 6_000
# Minimum words and content words of a fact: from people, and from an assistant, whose fragments are list items.
MIN_FACT_WORDS, MIN_ASSISTANT_FACT_WORDS = (3, 2), (5, 3)


@dataclass(frozen=True, slots=True)
class CandidateSentence:
    """One candidate fact with its place in the chat."""

    turn: Turn
    utterance: Utterance
    text: str
    question: str
    position: float

    def stands_alone(self) -> bool:
        """Whether it is long enough to be a fact. The bounds are for words; two CJK characters count as one."""
        least_words, least_terms = MIN_ASSISTANT_FACT_WORDS if self.utterance.by_machine() else MIN_FACT_WORDS
        return len(words(self.text)) >= least_words and len(terms(self.text)) >= least_terms

    def only_asks_the_model(self) -> bool:
        """Whether a person only asks the model for something, and states nothing such as a number or a name by it."""
        if self.utterance.by_machine() or not any(map(Utterance.by_machine, self.turn.utterances)):
            return False
        if is_request(self.text):
            return DIGIT.search(self.text) is None and ":" not in self.text
        return is_question(self.text) and not (DIGIT.search(self.text) or CAPITALISED.search(self.text))

    def read(self, prior: Prior) -> MeasuredSentence:
        """The sentence with resolved dates, ready to be weighed."""
        text = resolve(self.text, self.turn.at.date(), replace=True)
        return prior.read(
            text, assistant=self.utterance.by_machine(), answers=bool(self.question), position=self.position
        )


def extract(
    turns: Sequence[Turn], *, encoding: str, share: float = 0.4, max_tokens: int = MAX_LEAF_TOKENS
) -> list[DraftFact]:
    """The sentences of a chat worth keeping, in order, at most ``share`` of its tokens (and ``max_tokens``).

    A very short chat may keep MIN_LEAF_TOKENS whatever the share. Tool output is not read.
    """
    prior = Prior(encoding)
    chat_tokens = sum(
        tokens.count(readable(u.text), encoding) for turn in turns for u in turn.utterances if u.role != "tool"
    )
    limit = min(max_tokens, max(MIN_LEAF_TOKENS, int(chat_tokens * share)))
    statements = (sentence for sentence in candidates(turns) if not sentence.only_asks_the_model())
    drafts = [draft for sentence in statements if (draft := as_fact(sentence, prior)) is not None]
    kept: set[int] = set()
    seen: set[tuple[str, ...]] = set()
    for number in sorted(range(len(drafts)), key=lambda n: (-drafts[n].weight, n)):
        key = compared_words(drafts[number].text)
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


def candidates(turns: Sequence[Turn]) -> Iterator[CandidateSentence]:
    """Every sentence of users and assistant, tidied and escaped, with the question before it."""
    names = names_in({u.speaker for turn in turns for u in turn.utterances})
    asked = ""
    for number, turn in enumerate(turns):
        for utterance in turn.utterances:
            if utterance.role == "tool":
                continue
            # An assistant's tables would fill memory with what nobody said.
            said = utterance.text if utterance.by_machine() else rows_as_sentences(utterance.text)
            tidied = [text for raw in sentences(said) if (text := escape(tidy(raw, names)))]
            texts = list(join_dependent([rest for text in tidied if (rest := without_pleasantries(text))]))
            answer = next((n for n, text in enumerate(texts) if not is_question(text) and has_content(text)), None)
            for index, text in enumerate(texts):
                question = asked if index == answer else ""
                yield CandidateSentence(turn, utterance, text, question, number / len(turns))
            last = next((text for text in reversed(texts[-2:]) if is_question(text)), "")
            asked = resolve(last, turn.at.date(), replace=True)


def as_fact(sentence: CandidateSentence, prior: Prior) -> DraftFact | None:
    """The sentence as a fact, or None if it is too short."""
    if not sentence.stands_alone():
        return None
    measured = sentence.read(prior)
    return DraftFact(
        kind=kind_by(measured.text, measured.signs),
        text=with_question(sentence.question, measured.text),
        speaker=sentence.utterance.speaker,
        said_on=sentence.turn.at.date(),
        citations=(sentence.turn.id,),
        weight=prior_weight(measured),
        detail=True,
    )


def with_question(question: str, answer: str) -> str:
    """A short answer with its question, because it means little alone."""
    if len(terms(answer)) > 3 or len(question) > 60 or not _answers(question, answer):
        return answer
    return f"({question}) {answer}"


def _answers(question: str, answer: str) -> bool:
    """Whether a sentence seems to answer the question.

    It does if it repeats a word of it, has a number, or begins with a typical answer word or with a content word.
    Otherwise it may refer to something before the question: "How is your dog?" "He must be so proud!"
    """
    asked = set(map(stem, informative_words(question)))
    first_word = next(iter(words(answer.replace("’", "'"))), "").partition("'")[0]  # "he" of "he's"
    tells = first_word in ANSWER_WORDS or (first_word not in FUNCTION_WORDS and first_word not in PRAISE_WORDS)
    return bool(asked) and (tells or bool(asked & set(terms(answer))) or any(c.isdigit() for c in answer))

"""Facts without an LLM: the sentences of a chat that are worth keeping, each with its worth."""

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
# A leaf of a very short chat may still hold one fact or two; that of a very long one stays bounded.
LEAST_TOKENS, MOST_TOKENS = 64, 6_000
# Words and content words of the shortest fact: of people, and of an assistant, whose fragments are list items.
FEWEST, FEWEST_OF_ASSISTANT = (3, 2), (5, 3)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One candidate fact in its place."""

    turn: Turn
    utterance: Utterance
    text: str
    question: str
    position: float

    def stands_alone(self) -> bool:
        """Long enough to say something. The bounds are for words; two CJK characters count as one."""
        least_words, least_terms = FEWEST_OF_ASSISTANT if self.utterance.by_machine() else FEWEST
        return len(words(self.text)) >= least_words and len(terms(self.text)) >= least_terms

    def read(self, prior: Prior) -> Said:
        """With its dates in place, ready to be weighed."""
        text = resolve(self.text, self.turn.at.date(), replace=True)
        return prior.read(
            text, assistant=self.utterance.by_machine(), answers=bool(self.question), position=self.position
        )


def extract(turns: Sequence[Turn], *, encoding: str, share: float = 0.4, most: int = MOST_TOKENS) -> list[Draft]:
    """The sentences of a chat worth keeping, in order, at most ``share`` of its tokens (and ``most``).

    Very short chats may keep LEAST_TOKENS whatever the share. Tool output is not read.
    """
    prior = Prior(encoding)
    spoken = sum(
        tokens.count(readable(u.text), encoding) for turn in turns for u in turn.utterances if u.role != "tool"
    )
    limit = min(most, max(LEAST_TOKENS, int(spoken * share)))
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
    """Every sentence of users and assistant, tidied and escaped, with what was asked before it."""
    names = names_in({u.speaker for turn in turns for u in turn.utterances})
    asked = ""
    for number, turn in enumerate(turns):
        for utterance in turn.utterances:
            if utterance.role == "tool":
                continue
            tidied = [text for raw in sentences(utterance.text) if (text := escape(tidy(raw, names)))]
            texts = list(leaning_joined(tidied))
            answer = next((at for at, text in enumerate(texts) if not is_question(text) and has_content(text)), None)
            for at, text in enumerate(texts):
                question = asked if at == answer else ""
                yield Sentence(turn, utterance, text, question, number / len(turns))
            last = next((text for text in reversed(texts[-2:]) if is_question(text)), "")
            asked = resolve(last, turn.at.date(), replace=True)


def drafted(sentence: Sentence, prior: Prior) -> Draft | None:
    """The sentence as a fact, or None when it is none."""
    if not sentence.stands_alone():
        return None
    said = sentence.read(prior)
    said_on = sentence.turn.at.date()
    return Draft(
        kind=kind_of(said.text),
        text=paired(sentence.question, said.text),
        speaker=sentence.utterance.speaker,
        said_on=said_on,
        citations=(sentence.turn.id,),
        weight=worth(said),
        detail=True,
    )


def paired(question: str, answer: str) -> str:
    """A short answer carries its question: it means little alone."""
    if len(terms(answer)) > 3 or len(question) > 60 or not _answers(question, answer):
        return answer
    return f"({question}) {answer}"


def _answers(question: str, said: str) -> bool:
    """Whether what is said next seems to answer: it takes up a word, has a number, or begins as answers do or with
    a word that tells.

    Else it may be about what stood before the question: "How is your dog?" "He must be so proud!"
    """
    asked = set(map(stem, telling(question)))
    begun = next(iter(words(said.replace("’", "'"))), "").partition("'")[0]  # of "he's" the "he"
    tells = begun in ANSWERING or (begun not in FUNCTION and begun not in PRAISE)
    return bool(asked) and (tells or bool(asked & set(terms(said))) or any(c.isdigit() for c in said))

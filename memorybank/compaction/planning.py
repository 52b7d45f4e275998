"""What of a chat is kept as it is, what is read for notes, and how large each part may be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memorybank.core.transcript import LINE_INDENT
from memorybank.core.turns import Turn, Utterance
from memorybank.language import plain, tokens

#: Shares of the tools' results that are left out until a transcript fits, from the middle outwards.
SHARES = (0, 10, 20, 50, 100)
#: Tokens; fewer of somebody's own words tell nothing.
FEWEST = 40
LEFT_OUT = "[…]"
#: Tokens of a result that are kept where it is left out: its ends say what it was, and how it ended.
STUB = 48


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens of the parts of a shortened chat: together at most half of the model's window.

    ``kept`` is for the newest turns, at most ``turns``; ``words`` for people's own; ``notes`` for what a model writes.
    One call reads ``read`` beside the notes before and half of what is kept, and answers with ``answer`` at most.
    """

    kept: int
    turns: int
    words: int
    notes: int
    read: int
    answer: int

    @classmethod
    def of(cls, window: int, most: int, *, harder: bool = False) -> "Budget":
        """For a model that reads ``window`` tokens; ``harder`` if it has just said that they were too many."""
        if harder:
            window //= 2
        return cls(
            kept=window // 4,
            turns=2 if harder else 4,
            words=min(20_000, window // 8),
            notes=min(4_000, window // 8),
            read=min(most, window * 3 // 8),
            answer=window // 4,
        )

    def standing_for(self, size: int, before: int = 0) -> "Budget":
        """The same where a checkpoint stands for only ``size`` tokens, ``before`` of them the checkpoint before.

        It must be shorter than they are, and yet what that one quotes is not worn down by making one more.
        """
        most = max(size // 3, before)
        return replace(self, words=min(self.words, most), notes=min(self.notes, most))


def tail(sizes: Sequence[int], budget: Budget) -> int:
    """How many of the turns, of these sizes, are kept: the newest that fit."""
    kept, room = 0, budget.kept
    for size in reversed(sizes[-budget.turns :]):
        room -= size
        if room < 0:
            break
        kept += 1
    return kept


def thinned(turns: Sequence[Turn], room: int, encoding: str) -> list[Turn]:
    """The turns with as few of the tools' results left out but for their ends as make them fit ``room`` tokens.

    If no number does, all are. Those in the middle go first: how work began and where it is now are worth most. What
    else was said stays.
    """
    places = [
        (at, number)
        for at, turn in enumerate(turns)
        for number, utterance in enumerate(turn.utterances)
        if utterance.role == "tool" and utterance.speaker != "call"
    ]
    sizes = {(at, n): tokens.count(turns[at].utterances[n].text, encoding) for at, n in places}
    total = sum(tokens.count(u.text, encoding) for turn in turns for u in turn.utterances)
    middle = (len(places) - 1) / 2
    outwards = [place for _, place in sorted((abs(at - middle), place) for at, place in enumerate(places))]
    gone: set[tuple[int, int]] = set()
    for share in SHARES:
        gone = set(outwards[: len(outwards) * share // 100])
        if total - sum(max(0, sizes[place] - STUB) for place in gone) <= room:
            break
    return [replace(turn, utterances=_without(at, turn.utterances, gone, encoding)) for at, turn in enumerate(turns)]


def _without(at: int, said: Sequence[Utterance], gone: set[tuple[int, int]], encoding: str) -> tuple[Utterance, ...]:
    return tuple(
        replace(each, text=cut(each.text, STUB, encoding)) if (at, number) in gone else each
        for number, each in enumerate(said)
    )


def own_words(newest_first: Iterable[Turn], room: int, encoding: str) -> list[str]:
    """What people wrote, word for word, oldest first: the newest that fits, and the middle of one message left out."""
    kept: list[str] = []
    for turn in newest_first:
        for utterance in reversed(turn.utterances):
            if utterance.role != "user":
                continue
            said = f"{utterance.speaker}: {LINE_INDENT.join(plain(utterance.text).splitlines())}"
            cost = tokens.count(said, encoding) + 3
            if cost > room:
                return kept if room < FEWEST else [cut(said, room, encoding), *kept]
            kept.insert(0, said)
            room -= cost
    return kept


def cut(text: str, room: int, encoding: str) -> str:
    """The text with so much of its middle left out that ``room`` tokens hold it."""
    half, shown = len(text) // 2, text
    while half > 1 and tokens.count(shown, encoding) + 3 > room:
        half = half * 3 // 4
        shown = f"{text[:half]} {LEFT_OUT} {text[-half:]}"
    return shown

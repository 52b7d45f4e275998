"""Plan a compaction: the turns to keep, the text to take notes of, and the token budget of each part."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memorybank.core.transcript import LINE_INDENT
from memorybank.core.turns import Turn, Utterance
from memorybank.language import plain, tokens

#: Shares of the tool results to elide, from the middle outwards; the first share that makes a transcript fit is used.
ELIDED_PERCENTAGES = (0, 10, 20, 50, 100)
#: Excerpts shorter than this would carry no information.
MIN_QUOTE_TOKENS = 40
ELISION_MARK = "[…]"
#: Size of an elided result: its beginning shows what it was, and its end how it ended.
STUB_TOKENS = 48


@dataclass(frozen=True, slots=True)
class CompactionBudget:
    """Token budgets of a compacted chat; ``kept``, ``words`` and ``notes`` take at most half of the model's window.

    ``kept`` is for the newest turns, of which at most ``turns`` (a number) are kept; ``words`` is for quoted messages,
    ``notes`` for the notes. One call reads at most ``read`` tokens of turns, besides the previous notes and up to half
    of ``kept``, and answers with at most ``answer`` tokens.
    """

    kept: int
    turns: int
    words: int
    notes: int
    read: int
    answer: int

    @classmethod
    def of(cls, window: int, max_read: int, *, harder: bool = False) -> "CompactionBudget":
        """The budget for a window of this many tokens; ``harder`` halves the window, after a prompt was too long."""
        if harder:
            window //= 2
        return cls(
            kept=window // 4,
            turns=2 if harder else 4,
            words=min(20_000, window // 8),
            notes=min(4_000, window // 8),
            read=min(max_read, window * 3 // 8),
            answer=window // 4,
        )

    def standing_for(self, size: int, before: int = 0) -> "CompactionBudget":
        """The budget for replacing ``size`` tokens, which include the previous checkpoint's ``before`` tokens.

        The new checkpoint must be shorter than these, but quotations must not shrink with each new checkpoint.
        """
        limit = max(size // 3, before)
        return replace(self, words=min(self.words, limit), notes=min(self.notes, limit))


def count_kept_turns(sizes: Sequence[int], budget: CompactionBudget) -> int:
    """How many of the newest turns fit the budget; ``sizes`` are the tokens of all turns, oldest first."""
    kept, tokens_left = 0, budget.kept
    for size in reversed(sizes[-budget.turns :]):
        tokens_left -= size
        if tokens_left < 0:
            break
        kept += 1
    return kept


def elide_tool_results(turns: Sequence[Turn], max_tokens: int, encoding: str) -> list[Turn]:
    """Elide as few tool results as needed to fit the turns into ``max_tokens`` tokens; messages are kept.

    Results in the middle are elided first, because the beginning and the current state of the work matter most. If
    the turns still do not fit, all results are elided.
    """
    places = [
        (index, number)
        for index, turn in enumerate(turns)
        for number, utterance in enumerate(turn.utterances)
        if utterance.role == "tool" and utterance.speaker != "call"
    ]
    sizes = {(index, n): tokens.count(turns[index].utterances[n].text, encoding) for index, n in places}
    total = sum(tokens.count(u.text, encoding) for turn in turns for u in turn.utterances)
    middle = (len(places) - 1) / 2
    outwards = [place for _, place in sorted((abs(rank - middle), place) for rank, place in enumerate(places))]
    elided: set[tuple[int, int]] = set()
    for share in ELIDED_PERCENTAGES:
        elided = set(outwards[: len(outwards) * share // 100])
        if total - sum(max(0, sizes[place] - STUB_TOKENS) for place in elided) <= max_tokens:
            break
    return [
        replace(turn, utterances=_elide(index, turn.utterances, elided, encoding)) for index, turn in enumerate(turns)
    ]


def _elide(
    index: int, utterances: Sequence[Utterance], elided: set[tuple[int, int]], encoding: str
) -> tuple[Utterance, ...]:
    return tuple(
        replace(utterance, text=elide_middle(utterance.text, STUB_TOKENS, encoding))
        if (index, number) in elided
        else utterance
        for number, utterance in enumerate(utterances)
    )


def quote_people(newest_first: Iterable[Turn], max_tokens: int, encoding: str) -> list[str]:
    """The newest messages of people that fit, verbatim, oldest first; the first one that does not fit is shortened."""
    quotes: list[str] = []
    for turn in newest_first:
        for utterance in reversed(turn.utterances):
            if utterance.role != "user":
                continue
            quote = f"{utterance.speaker}: {LINE_INDENT.join(plain(utterance.text).splitlines())}"
            cost = tokens.count(quote, encoding) + 3
            if cost > max_tokens:
                return quotes if max_tokens < MIN_QUOTE_TOKENS else [elide_middle(quote, max_tokens, encoding), *quotes]
            quotes.insert(0, quote)
            max_tokens -= cost
    return quotes


def elide_middle(text: str, max_tokens: int, encoding: str) -> str:
    """Cut out the middle of the text until it fits ``max_tokens`` tokens."""
    half, shown = len(text) // 2, text
    while half > 1 and tokens.count(shown, encoding) + 3 > max_tokens:
        half = half * 3 // 4
        shown = f"{text[:half]} {ELISION_MARK} {text[-half:]}"
    return shown

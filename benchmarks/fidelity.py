"""Facts of a log beside the turns they cite: how many say something that nobody said. Replayed without a model.

python -m benchmarks.fidelity LOG… [--examples N] [--transcript]. A log is in the import format. See ``verbatim`` for the judge.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from memorybank import services
from memorybank.core.transcript import read
from memorybank.models import Bank, Entry, Fact
from memorybank.models.privacy import MaskedValue
from projects.importing.replay import replay

from . import scratch
from .dating import misdated
from .idle import SPEECH
from .quality import read_log
from .verbatim import violations

INTERVAL = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact with what is wrong with it, beside its turn."""

    kind: str
    fact: str
    said: str


def findings() -> Iterator[tuple[Fact, list[Finding]]]:
    """Every leaf fact of the database, with its violations."""
    for bank in Bank.objects.all():
        for leaf in Entry.objects.filter(bank=bank).leaves().select_related("chat"):
            yield from _of_leaf(bank, leaf)


def _of_leaf(bank: Bank, leaf: Entry) -> Iterator[tuple[Fact, list[Finding]]]:
    chat = leaf.chat
    assert chat is not None
    turns = read(chat.outputs.order_by("pk"), tz=bank.tz, masker=MaskedValue.objects.masker(bank))
    text_by_turn = {turn.id: "\n".join(u.text for u in turn.utterances) for turn in turns}
    previous = dict(zip(text_by_turn, ["", *text_by_turn.values()], strict=False))
    said_on = {turn.id: turn.at.date() for turn in turns}
    names = {word for turn in turns for u in turn.utterances for word in u.speaker.casefold().split()}
    for fact in leaf.facts.all():
        source = "\n".join(text_by_turn[cited] for cited in fact.citations)
        first = fact.citations[0]
        wrong = violations(fact.text, source, previous[first], frozenset(names))
        wrong += misdated(fact.text, f"{previous[first]}\n{source}", said_on[first])
        yield fact, [Finding(kind, fact.text, source) for kind in dict.fromkeys(wrong)]


def prepare(bank: Bank, _: datetime) -> None:
    """Every bank remembers."""
    services.enable(bank, actor="benchmark", disclosure_accepted=True)


def report(path: Path, examples: int, *, transcript: bool) -> int:
    """Print what is wrong in the memory of one log; how much it is."""
    with scratch.database():
        replay(read_log(path, transcript=transcript), step=INTERVAL, prepare=prepare)
        judged = list(findings())
    kinds: dict[str, list[Finding]] = defaultdict(list)
    for _, found in judged:
        for finding in found:
            kinds[finding.kind].append(finding)
    print(
        f"{path}: {len(judged):,} facts, {sum(map(len, kinds.values())):,} violations; {_speech(f for f, _ in judged)}"
    )
    for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"  {kind}: {len(found)}")
        for finding in found[:examples]:
            print(f"    {finding.fact}\n      < {' '.join(finding.said.split())[:400]}")
    return sum(map(len, kinds.values()))


def _speech(facts: Iterable[Fact]) -> str:
    """How raw speech is quoted."""
    counts = Counter(bool(SPEECH.search(fact.text)) for fact in facts)
    return f"{counts[True] / max(1, sum(counts.values())):.1%} with um or uh"


def main() -> None:
    """Judge the memory of every log; exit 1 when anything is in it that nobody said."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity", description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("--examples", type=int, default=3, help="shown of each kind (default: 3)")
    parser.add_argument("--transcript", action="store_true", help="talk between people, as replay_chats reads it")
    options = parser.parse_args()
    if sum([report(path, options.examples, transcript=options.transcript) for path in options.logs]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

"""Which turns of a chat one summary covers: those that wait, with the leaf they extend; or a leaf to be made anew."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memorybank import conf
from memorybank.models import Chat, Entry, Fact, Output

#: One summary reads at most this many characters of new turns; the rest is due again at once.
BATCH_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Batch:
    """What one summary covers: the outputs after the watermark, and the live leaf they extend, if any."""

    outputs: list[Output]
    through: int
    leaf: Entry | None = None
    known: list[Fact] = field(default_factory=list)
    rebuilds: bool = False
    mends: bool = False  # the leaf is made anew because it lost lines to an erasure, and covers nothing new


def read(chat: Chat) -> Batch:
    """The waiting turns, and what the newest leaf holds if it is still live; first of all, a leaf to be mended."""
    if chat.stale and (stale := chat.entries.filter(stale=True).order_by("first_output").first()):
        return Batch(list(stale.covered()), chat.summarised_through, stale, rebuilds=True, mends=True)
    leaf = chat.entries.order_by("-last_output").first() if chat.summarised_through else None
    if leaf and leaf.parent_id:
        leaf = None
    rebuilds = bool(leaf and leaf.updates >= conf.current().rebuild_after_updates)
    batch = _outputs(chat, (leaf.first_output or 1) - 1) if leaf and rebuilds else []
    if not (
        batch and batch[-1].sequence > chat.summarised_through
    ):  # nor is a leaf made anew that is too long for one go
        rebuilds, batch = False, _outputs(chat, chat.summarised_through)
    through = batch[-1].sequence if batch else chat.summarised_through
    facts: Iterable[Fact] = () if rebuilds or not leaf else leaf.facts.visible().with_citations()
    known = [fact for fact in facts if _is_replaceable(fact)]
    remembered = [output for output in batch if output.status == Output.Status.OK]
    return Batch(remembered, through, leaf, known, rebuilds)


def _outputs(chat: Chat, after: int) -> list[Output]:
    waiting = chat.outputs.filter(sequence__gt=after).order_by("sequence")
    return list(_bounded(waiting[: conf.current().turns_per_summary].iterator()))


def _is_replaceable(fact: Fact) -> bool:
    return not (fact.detail or fact.settled_by_hand)


def _bounded(outputs: Iterable[Output]) -> Iterator[Output]:
    room = BATCH_CHARACTERS
    for output in outputs:
        yield output
        room -= len(output.question) + len(output.answer) + len(str(output.messages))
        if room <= 0:
            return

"""Choose the turns of the next summary: the pending turns with the leaf they extend, or a leaf to rebuild."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memorybank import conf
from memorybank.models import EXTRACTIVE, Chat, Entry, Fact, Output

#: Characters of new turns that one summary reads; the rest is due again at once.
MAX_BATCH_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Batch:
    """The input of one summary: the outputs after the watermark, and the live leaf they extend, if any."""

    outputs: list[Output]
    through: int
    leaf: Entry | None = None
    known: list[Fact] = field(default_factory=list)
    rebuilds: bool = False
    mends: bool = False  # the leaf is rebuilt because an erasure took some of its lines; it covers nothing new

    def adds_to_notes(self, method: str) -> bool:
        """Whether sentences extracted by ``method`` only join what stands: notes that an erasure left in the leaf."""
        return bool(self.mends and method.startswith(EXTRACTIVE) and self.leaf and self.leaf.has_notes)


def next_batch(chat: Chat) -> Batch:
    """The pending turns, with the facts of the newest leaf if it is live; without pending turns, a stale leaf.

    Pending turns come first, because a stale leaf may have to wait for the model. If it is the newest and was
    extracted, it is rebuilt with them; what is left of a model's notes waits for the model by itself.
    """
    stale = chat.entries.filter(stale=True).order_by("first_output").first() if chat.stale else None
    if stale and not chat.pending_outputs:
        return Batch(list(stale.covered()), chat.summarised_through, stale, rebuilds=True, mends=True)
    leaf = chat.entries.order_by("-last_output").first() if chat.summarised_through else None
    if leaf and (leaf.parent_id or leaf.detached_from or (leaf.stale and leaf.has_notes)):
        leaf = None
    rebuilds = bool(leaf and (leaf.stale or leaf.updates >= conf.current().rebuild_after_updates))
    outputs = _outputs(chat, (leaf.first_output or 1) - 1) if leaf and rebuilds else []
    if not (outputs and outputs[-1].sequence > chat.summarised_through):  # a leaf too long for one batch is not rebuilt
        rebuilds, outputs = False, _outputs(chat, chat.summarised_through)
    through = outputs[-1].sequence if outputs else chat.summarised_through
    facts: Iterable[Fact] = () if rebuilds or not leaf else leaf.facts.visible().filter(quarantine="").with_citations()
    known = [fact for fact in facts if _is_replaceable(fact)]
    remembered = [output for output in outputs if output.status == Output.Status.OK]
    return Batch(remembered, through, leaf, known, rebuilds)


def _outputs(chat: Chat, after: int) -> list[Output]:
    pending = chat.outputs.filter(sequence__gt=after).order_by("sequence")
    return list(_bounded(pending[: conf.current().turns_per_summary].iterator()))


def _is_replaceable(fact: Fact) -> bool:
    return not (fact.detail or fact.decided_by_person)


def _bounded(outputs: Iterable[Output]) -> Iterator[Output]:
    characters_left = MAX_BATCH_CHARACTERS
    for output in outputs:
        yield output
        characters_left -= len(output.question) + len(output.answer) + len(str(output.messages))
        if characters_left <= 0:
            return

"""The part of the public face that is about single facts: looking through them, and deciding about them."""

from collections.abc import Collection
from datetime import datetime

from django.utils import timezone

from memorybank.models import Bank, Fact, FactQuerySet
from memorybank.reading import browsing, explanations
from memorybank.reading.browsing import Origin
from memorybank.reading.explanations import Explanation
from memorybank.reading.recall.visibility import VisibleSentence

# Whatever writes memory is imported where it is called, as in ``services``.


def browse(bank: Bank) -> FactQuerySet:
    """The facts of a bank that people may look through, each once; see :func:`browsing.browse`."""
    return browsing.browse(bank)


def find(bank: Bank, question: str, *, now: datetime | None = None) -> list[int]:
    """Ids of the facts that a question is about, best first, hidden and held-back ones among them."""
    return browsing.find(bank, question, now=now or timezone.now())


def origins(bank: Bank, facts: Collection[Fact]) -> dict[int, list[Origin]]:
    """Of each fact the turns that it rests on, without their words; none of private chats."""
    return browsing.origins(bank, facts)


def sentences(bank: Bank, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], VisibleSentence]:
    """The sentences at places in turns (output, place), as far as memory tells them now."""
    return browsing.sentences(bank, places)


def explain(bank: Bank, *, fact_id: int, actor: str, now: datetime | None = None) -> Explanation:
    """The lineage of a fact of ``bank``, down to the turns it cites; who has read them is on the audit trail.

    Raises ``Fact.DoesNotExist``.
    """
    return explanations.explain(bank, fact_id=fact_id, actor=actor, now=now or timezone.now())


def telling_words(text: str) -> list[tuple[str, bool]]:
    """A line that is held back in pieces, each with whether it is of what made it so."""
    from memorybank.safety import quarantine  # its rules are for who reviews

    return quarantine.telling(text)


def hide(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime | None = None) -> int:
    """Take facts out of every prompt at once; how many were shown before. Raises ``Fact.DoesNotExist``."""
    from memorybank.writing import fact_edits

    return fact_edits.hide(bank, fact_ids, actor=actor, now=now or timezone.now())


def restore(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime | None = None) -> int:
    """Let hidden facts in again; how many were hidden. Raises ``Fact.DoesNotExist``."""
    from memorybank.writing import fact_edits

    return fact_edits.restore(bank, fact_ids, actor=actor, now=now or timezone.now())


def release(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime | None = None) -> int:
    """Let facts pass that read like instructions; how many were held back. Raises ``Fact.DoesNotExist``."""
    from memorybank.writing import fact_edits

    return fact_edits.release(bank, fact_ids, actor=actor, now=now or timezone.now())


def keep_back(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime | None = None) -> int:
    """Leave facts held back for good; how many waited to be judged. Raises ``Fact.DoesNotExist``."""
    from memorybank.writing import fact_edits

    return fact_edits.keep_back(bank, fact_ids, actor=actor, now=now or timezone.now())


def pin(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime | None = None) -> int:
    """Show facts in every block, whatever they are worth; how many were not pinned. Raises ``Fact.DoesNotExist``."""
    from memorybank.writing import fact_edits

    return fact_edits.pin(bank, fact_ids, actor=actor, now=now or timezone.now())


def unpin(bank: Bank, *, fact_ids: Collection[int], actor: str, now: datetime | None = None) -> int:
    """Let facts compete for their place again; how many were pinned. Raises ``Fact.DoesNotExist``."""
    from memorybank.writing import fact_edits

    return fact_edits.unpin(bank, fact_ids, actor=actor, now=now or timezone.now())


def edit(bank: Bank, *, fact_ids: Collection[int], text: str, actor: str, now: datetime | None = None) -> int:
    """Put facts that say the same right, for good; how many said something else. See :func:`correcting.edit`."""
    from memorybank.writing import fact_edits

    return fact_edits.edit(bank, fact_ids, text=text, actor=actor, now=now or timezone.now())


def add(
    bank: Bank,
    *,
    text: str,
    kind: str = Fact.Kind.FACT,
    pinned: bool = True,
    actor: str,
    now: datetime | None = None,
) -> Fact:
    """Write a fact by hand, in the name of ``actor``. Raises :class:`InvalidInput`."""
    from memorybank.writing import fact_edits

    return fact_edits.add(bank, text=text, kind=kind, pinned=pinned, actor=actor, now=now or timezone.now())

"""Explain a fact by the facts and turns it rests on. Reading turns is recorded in the audit log."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.models import NOBODY, Bank, Event, Fact, FactOutput, MaskedValue, Output

if TYPE_CHECKING:
    from memorybank.safety.redaction import Masker


@dataclass(frozen=True, slots=True)
class Explanation:
    """A fact, the leaf facts it rests on, and the turns these cite. The turns are masked: never save them."""

    fact: Fact
    facts: list[Fact]
    outputs: list[Output]


@at_present
def explain(bank: Bank, *, fact_id: int, actor: str, viewer: str = NOBODY, now: datetime = PRESENT) -> Explanation:
    """The sources of a fact of ``bank`` that ``viewer`` may read, down to the turns it cites.

    The turns are people's own words, as memory reads them: masked. The audit log records that ``actor`` has read them.
    Raises ``Fact.DoesNotExist``.
    """
    fact = Fact.objects.visible_to(viewer).select_related("entry").get(pk=fact_id, entry__bank=bank)
    leaf_facts = list(fact.sources.filter(bank=bank).visible_to(viewer).select_related("entry"))
    cited = FactOutput.objects.filter(fact__in=[source.pk for source in leaf_facts or [fact]]).values("output")
    outputs = Output.objects.filter(chat__bank=bank, pk__in=cited).visible_to(viewer)
    outputs = outputs.select_related("chat").order_by("sequence")
    detail = {"fact": fact.pk, "outputs": [output.pk for output in outputs]}
    log(bank, actor, Event.Action.READ, now, **detail)
    shown = [output.for_others() for output in outputs]
    return Explanation(fact, leaf_facts, _masked(shown, MaskedValue.objects.masker(bank)))


def _masked(outputs: list[Output], masker: "Masker") -> list[Output]:
    """The turns and the titles of their chats without secrets."""
    for rewrite in (masker.mask, masker.mask_learnt):  # a secret found in one turn is masked in all
        for output in outputs:
            output.question, output.answer = rewrite(output.question), rewrite(output.answer)
            output.chat.title = rewrite(output.chat.title)
    return outputs

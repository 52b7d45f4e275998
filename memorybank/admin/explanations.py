"""Where a line of memory comes from, as HTML: facts, entries and turns, with what is private left out."""

from collections.abc import Iterable
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.models import Fact, FactSource

WITHHELD = _("(rests on a chat that is private now)")


def marked(facts: Iterable[Fact]) -> list[Fact]:
    """The facts, each told whether it is ``withheld``: private now, or resting on something that is."""
    marked: list[Any] = list(facts)
    ids = [fact.pk for fact in marked]
    own = Fact.objects.filter(pk__in=ids, entry__chat__private=True).values_list("pk", flat=True)
    below = FactSource.objects.filter(fact__in=ids, source__entry__chat__private=True).values_list("fact_id", flat=True)
    withheld = {*own, *below}
    for fact in marked:
        fact.withheld = fact.pk in withheld
    return marked


def explained(explanation: services.Explanation) -> SafeString:
    """The facts a digest's line rests on, and every turn as it was said; not those of a chat that is private now."""
    return shown(
        "why", facts=None if explanation.fact.entry.is_leaf else marked(explanation.facts), outputs=explanation.outputs
    )


def link(obj: Any, text: str) -> SafeString:
    """To the page of an object in this admin."""
    return shown("link", address=_address(obj), text=text)


def links(objects: Iterable[Any], between: str) -> SafeString:
    """To the pages of several."""
    return shown("links", links=[(_address(each), str(each)) for each in objects], between=between)


def _address(obj: Any) -> str:
    return reverse(f"admin:memorybank_{obj._meta.model_name}_change", args=[obj.pk])


def shown(template: str, **context: Any) -> SafeString:
    """One of this admin's templates, filled."""
    return render_to_string(f"memorybank/admin/{template}.html", {**context, "withheld": WITHHELD})

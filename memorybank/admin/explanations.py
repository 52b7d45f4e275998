"""Render the sources of a line of memory as HTML: facts, entries and turns, without those of private chats."""

from collections.abc import Iterable
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.models import Fact, FactSource

WITHHELD = _("(rests on a chat that is private now)")


def mark_withheld(facts: Iterable[Fact]) -> list[Fact]:
    """Add ``withheld`` to each fact: whether it is from, or based on, a chat that is private now."""
    marked: list[Any] = list(facts)
    ids = [fact.pk for fact in marked]
    own = Fact.objects.filter(pk__in=ids, entry__chat__private=True).values_list("pk", flat=True)
    below = FactSource.objects.filter(fact__in=ids, source__entry__chat__private=True).values_list("fact_id", flat=True)
    withheld = {*own, *below}
    for fact in marked:
        fact.withheld = fact.pk in withheld
    return marked


def explanation_html(explanation: services.Explanation) -> SafeString:
    """The turns behind a line, and for a digest's line also its leaf facts, without chats that are private now."""
    return render_part(
        "why",
        facts=None if explanation.fact.entry.is_leaf else mark_withheld(explanation.facts),
        outputs=explanation.outputs,
    )


def link(obj: Any, text: str) -> SafeString:
    return render_part("link", address=_address(obj), text=text)


def links(objects: Iterable[Any], between: str) -> SafeString:
    return render_part("links", links=[(_address(obj), str(obj)) for obj in objects], between=between)


def _address(obj: Any) -> str:
    return reverse(f"admin:memorybank_{obj._meta.model_name}_change", args=[obj.pk])


def render_part(template: str, **context: Any) -> SafeString:
    return render_to_string(f"memorybank/admin/{template}.html", {**context, "withheld": WITHHELD})

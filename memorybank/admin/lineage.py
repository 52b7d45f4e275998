"""Where a line of memory comes from, as HTML: facts, entries and turns, with what is private left out."""

from collections.abc import Iterable
from typing import Any

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from .. import services
from ..models import Fact, Granularity, Output

WITHHELD = "(rests on a chat that is private now)"


def marked(facts: Iterable[Fact]) -> list[Fact]:
    """The facts, each told whether it is ``withheld``: private now, or resting on something that is."""
    marked: list[Any] = list(facts)
    leaf = {fact.pk for fact in marked if fact.entry.granularity == Granularity.CONVERSATION}
    rest_on = {fact.pk: {fact.pk} if fact.pk in leaf else set(fact.citations) for fact in marked}
    private = Fact.objects.filter(pk__in=set().union(*rest_on.values()), entry__chat__private=True)
    withheld = set(private.values_list("pk", flat=True))
    for fact in marked:
        fact.withheld = not withheld.isdisjoint(rest_on[fact.pk])
    return marked


def explained(explanation: services.Explanation) -> SafeString:
    """The facts a digest's line rests on, and every turn, as they were said."""
    turns = joined("{}", [(_turn(output),) for output in explanation.outputs])
    if explanation.fact.entry.granularity == Granularity.CONVERSATION:
        return format_html('<div class="memory-why">{}</div>', turns)
    facts = joined("<li>{}</li>", [(line_of(fact),) for fact in marked(explanation.facts)])
    return format_html(
        '<div class="memory-why"><p>It rests on these facts:</p><ul class="memory-list">{}</ul>'
        "<p>which rest on these turns:</p>{}</div>",
        facts,
        turns,
    )


def _turn(output: Output) -> SafeString:
    """One turn as it was said; not, if its chat has been made private."""
    if output.chat.private:
        return format_html("<article><p>{}</p></article>", WITHHELD)
    said = ((output.author, output.question), ("assistant", output.answer))
    return format_html(
        '<article><p>Turn {} of “{}”, <time datetime="{}">{}</time></p><dl>{}</dl></article>',
        output.pk,
        output.chat,
        output.created_at.isoformat(),
        date_format(localtime(output.created_at), "j M Y, H:i"),
        joined("<dt>{}</dt><dd>{}</dd>", [(speaker, text) for speaker, text in said if text]),
    )


def line_of(fact: Any) -> SafeString:
    text = WITHHELD if fact.withheld else fact.text
    held = format_html(' <strong class="held-back">held back: {}</strong>', fact.quarantine) if fact.quarantine else ""
    return format_html("<em>{}</em> {}{}", fact.get_kind_display(), link(fact, text), held)


def link(obj: Any, text: str) -> SafeString:
    address = reverse(f"admin:memorybank_{obj._meta.model_name}_change", args=[obj.pk])
    return format_html('<a href="{}">{}</a>', address, text)


def fact_links(pks: Iterable[int]) -> SafeString:
    addresses = ((reverse("admin:memorybank_fact_change", args=[pk]), pk) for pk in pks)
    return format_html_join(", ", '<a href="{}">fact {}</a>', addresses)


def joined(template: str, rows: Iterable[tuple[Any, ...]]) -> SafeString:
    return format_html_join("", template, rows)

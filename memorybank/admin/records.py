"""Who is held back often: beside each held-back line, how many of its author's lines in the bank are."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memorybank.core.turns import NOTED_FROM
from memorybank.models import Fact

#: From so many lines on an author is marked.
OFTEN = 3


def author_records(facts: Iterable[Fact]) -> list[Fact]:
    """The facts, each with its ``author_record``; "" for one that is not held back. One query, however many.

    What a model noted from an author's turns counts with what she said.
    """
    told: list[Any] = list(facts)
    held = [fact for fact in told if fact.quarantine and fact.speaker]
    others = Fact.objects.exclude(quarantine="").exclude(entry__chat__private=True)
    authors = {_author(fact.speaker) for fact in held}
    spoken = {name for author in authors for name in (author, NOTED_FROM + author)}
    others = others.filter(bank__in={fact.bank_id for fact in held}, speaker__in=spoken)
    counts: Counter[tuple[int, str]] = Counter()
    for bank, speaker, lines in others.order_by().values_list("bank", "speaker").annotate(lines=Count("pk")):
        counts[bank, _author(speaker)] += lines
    for fact in told:
        fact.author_record = _record(counts[fact.bank_id, _author(fact.speaker)]) if fact in held else ""
    return told


def _author(speaker: str) -> str:
    return speaker.removeprefix(NOTED_FROM)


def _record(lines: int) -> str:
    counted = ngettext("%(n)d line", "%(n)d lines", lines) % {"n": lines}
    return _("%(lines)s – held back often") % {"lines": counted} if lines >= OFTEN else counted

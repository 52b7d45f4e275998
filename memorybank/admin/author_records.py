"""Count the quarantined lines of each author, to show beside a quarantined line."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memorybank.core.turns import NOTED_FROM
from memorybank.models import Fact

#: Authors with at least this many quarantined lines are marked as “quarantined often”.
MIN_LINES_OFTEN = 3


def author_records(facts: Iterable[Fact]) -> list[Fact]:
    """Add an ``author_record`` to each fact: "" unless the fact is quarantined. One query for all facts.

    Lines that a model noted from an author's turns are counted as the author's.
    """
    rows: list[Any] = list(facts)
    quarantined = [fact for fact in rows if fact.quarantine and fact.speaker]
    others = Fact.objects.exclude(quarantine="").visible_to()
    authors = {_author(fact.speaker) for fact in quarantined}
    spoken = {name for author in authors for name in (author, NOTED_FROM + author)}
    others = others.filter(bank__in={fact.bank_id for fact in quarantined}, speaker__in=spoken)
    counts: Counter[tuple[int, str]] = Counter()
    for bank, speaker, lines in others.order_by().values_list("bank", "speaker").annotate(lines=Count("pk")):
        counts[bank, _author(speaker)] += lines
    for fact in rows:
        fact.author_record = _record(counts[fact.bank_id, _author(fact.speaker)]) if fact in quarantined else ""
    return rows


def _author(speaker: str) -> str:
    return speaker.removeprefix(NOTED_FROM)


def _record(lines: int) -> str:
    counted = ngettext("%(n)d line", "%(n)d lines", lines) % {"n": lines}
    return _("%(lines)s – quarantined often") % {"lines": counted} if lines >= MIN_LINES_OFTEN else counted

"""Restrict a search or a list: to turns by author, chat, days and metadata, or to texts that contain a word."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, tzinfo
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q
from django.db.models.fields.json import KeyTransform

from memorybank.models import Bank, FactOutput, FactSource, Output
from memorybank.models.chat import OutputQuerySet
from memorybank.models.fact import FactQuerySet

#: No turn is older, and the conversion between time zones overflows at the first and the last date of the calendar.
FIRST_DAY, LAST_DAY = date(1970, 1, 2), date(9999, 12, 30)


def days_between(column: str, since: date | None, until: date | None, tz: tzinfo) -> Q:
    """A condition: the time ``column`` is between these days, inclusive, in ``tz``; ``None`` leaves an end open."""
    days = Q()
    if since and since >= FIRST_DAY:
        days &= Q(**{f"{column}__gte": datetime.combine(since, time.min, tz)})
    if until and until <= LAST_DAY:
        days &= Q(**{f"{column}__lte": datetime.combine(max(until, FIRST_DAY), time.max, tz)})
    return days


def containing(word: str, *columns: str) -> Q:
    """A condition: one of these columns has the word, or a longer one that contains it, in any case."""
    # SQLite ignores case for ASCII only.
    spellings = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    return reduce(
        or_, (Q(**{f"{column}__icontains": spelling}) for column in columns for spelling in sorted(spellings))
    )


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """A filter of turns by author (or person quoted), key of the chat, days in the bank's time zone, and metadata.

    Empty values restrict nothing. A turn must have all names and values of ``metadata``.
    """

    author: str = ""
    chat: str = ""
    since: date | None = None
    until: date | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.author or self.chat or self.since or self.until or self.metadata)

    def outputs(self, bank: Bank) -> OutputQuerySet:
        """The turns of a bank that match."""
        rows = Output.objects.filter(days_between("created_at", self.since, self.until, bank.tz), chat__bank=bank)
        rows = rows.of_person(self.author) if self.author else rows
        rows = rows.filter(chat__key=self.chat) if self.chat else rows
        for number, (name, value) in enumerate(self.metadata.items()):
            # A transform, because a name in a keyword would be read as a path.
            rows = rows.alias(**{f"label_{number}": KeyTransform(name, "metadata")})
            rows = rows.filter(**{f"label_{number}": value})
        return rows

    def facts(self, bank: Bank, facts: FactQuerySet) -> FactQuerySet:
        """The facts among ``facts`` that rest on a matching turn."""
        leaves = FactOutput.objects.filter(output__in=self.outputs(bank).order_by().values("pk")).values("fact")
        lines = FactSource.objects.filter(source__in=leaves).values("fact")
        return facts.filter(Q(pk__in=leaves) | Q(pk__in=lines))

"""Resolve relative dates: "yesterday" is worthless in a memory that is read months later.

We keep our own tables because a wrong date is worse than a missed one: dateparser's search took every "we" for a
Wednesday, turned "last year" into a day and lost half of the French and Spanish phrases (measured). python-dateutil
does the arithmetic.
"""

from datetime import date

from memorybank.language.dates import english, tables
from memorybank.language.dates.date_spans import format_date
from memorybank.language.dates.phrases import Phrases
from memorybank.language.work_cache import once_per_work

__all__ = ["format_date", "resolve"]


@once_per_work
def resolve(text: str, said_on: date, *, replace: bool = False) -> str:
    """``text`` with the absolute date beside every unambiguous relative phrase.

    "yesterday" becomes "yesterday (7 May 2023)". With ``replace`` English phrases are replaced by the date ("on 7 May
    2023"); in other languages, where a case ending or particle depends on the phrase, the date is always written beside
    it, as ISO 8601. Ambiguous phrases ("next Friday" said on a Monday) stay as they are. Resolving twice changes
    nothing.
    """
    phrases = Phrases(text)
    english.claim(phrases, said_on, replace=replace)
    tables.claim(phrases, said_on)
    return phrases.written()

"""Shorten dates that stand near the heading of their day, because the heading already says the year."""

import re

from memorybank.language import alternation
from memorybank.language.dates.date_spans import MONTHS

#: A month at most this far from the heading's month needs no year.
MAX_MONTHS_FROM_HEADING = 5

MONTH = alternation(MONTHS)
MONTH_AND_YEAR = re.compile(rf"(?<![\w-])(?P<said>(?:\d{{1,2}} )?(?P<month>{MONTH})) (?P<year>\d{{4}})(?![\w/-])")
DAY_OF_HEADING = re.compile(rf"(?P<day>(?:\d{{1,2}} )?(?P<month>{MONTH}) (?P<year>\d{{4}}))$")
WEEK_NAMES = {"before": "last week", "after": "next week"}


def shorten_dates(text: str, heading: str) -> str:
    """``text`` as it may be written near a heading such as "8 May 2023".

    Nearby dates of the same year lose the year, and the week before or after the day becomes last week or next week
    again.
    """
    own = DAY_OF_HEADING.search(heading)
    if not own:
        return text
    month = MONTHS.index(own["month"])

    def written(match: re.Match[str]) -> str:
        near = match["year"] == own["year"] and abs(MONTHS.index(match["month"]) - month) <= MAX_MONTHS_FROM_HEADING
        return match["said"] if near else match[0]

    return MONTH_AND_YEAR.sub(written, _weeks(text, own["day"]))


def _weeks(text: str, day: str) -> str:
    def written(match: re.Match[str]) -> str:
        words = WEEK_NAMES[match["way"]]
        return words.capitalize() if match[0][0].isupper() else words

    if "he week " not in text:
        return text
    return re.sub(rf"\b(?:[Ii]n )?[Tt]he week (?P<way>before|after) {re.escape(day)}(?!\w)", written, text)

"""Dates that stand near the heading of their day: what it says already is not said again."""

import re

from memorybank.language import either
from memorybank.language.dates.date_spans import MONTHS

#: A month so many months from the heading's is in its year, even if no year is named.
NEAREST = 5

MONTH = either(MONTHS)
DATE = re.compile(rf"(?<![\w-])(?P<said>(?:\d{{1,2}} )?(?P<month>{MONTH})) (?P<year>\d{{4}})(?![\w/-])")
DAY_OF_HEADING = re.compile(rf"(?P<day>(?:\d{{1,2}} )?(?P<month>{MONTH}) (?P<year>\d{{4}}))$")
BESIDE = {"before": "last week", "after": "next week"}


def shortened(text: str, heading: str) -> str:
    """``text`` as it may be written near a heading such as "8 May 2023".

    Nearby dates of its year go without the year, and the week before or after its day is last week or next week again.
    """
    own = DAY_OF_HEADING.search(heading)
    if not own:
        return text
    month = MONTHS.index(own["month"])

    def written(match: re.Match[str]) -> str:
        near = match["year"] == own["year"] and abs(MONTHS.index(match["month"]) - month) <= NEAREST
        return match["said"] if near else match[0]

    return DATE.sub(written, _weeks(text, own["day"]))


def _weeks(text: str, day: str) -> str:
    def written(match: re.Match[str]) -> str:
        words = BESIDE[match["way"]]
        return words.capitalize() if match[0][0].isupper() else words

    return re.sub(rf"\b(?:[Ii]n )?[Tt]he week (?P<way>before|after) {re.escape(day)}(?!\w)", written, text)

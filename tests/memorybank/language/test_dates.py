"""Relative dates: unambiguous ones become absolute, ambiguous ones stay as said."""

from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memorybank.language.dates import format_date, resolve
from memorybank.language.dates.heading import shorten_dates

WEDNESDAY = date(2023, 5, 10)


def test_it_spells_a_date_the_same_everywhere() -> None:
    assert format_date(date(2023, 5, 7)) == "7 May 2023"


@pytest.mark.parametrize(
    "sentence",
    [
        "We met half a year ago.",
        "It was six or seven years ago.",
        "It was twenty five years ago.",
        "We did it over a year ago.",
        "It was a year ago today.",
        "It takes the next week or two, next year or two.",
        "It was my last year of school.",
        "We pushed the launch two weeks back.",
        "The day is day after tomorrow.",
        "It will be there in a day or two.",
        "It is due in two weeks' time.",
        "Time flies, it feels like just yesterday I put this dress on.",
        "I remember it as if it was yesterday.",
    ],
)
def test_a_phrase_that_is_part_of_another_stays_as_it_was_said(sentence: str) -> None:
    assert resolve(sentence, WEDNESDAY) == sentence


@pytest.mark.parametrize(
    ("sentence", "beside"),
    [
        ("We met yesterday.", "We met yesterday (9 May 2023)."),
        ("the day before yesterday", "the day before yesterday (8 May 2023)"),
        ("Call me tomorrow morning", "Call me tomorrow morning (morning of 11 May 2023)"),
        ("It broke last week", "It broke last week (week before 10 May 2023)"),
        ("the week before last", "the week before last (week around 26 April 2023)"),
        ("last month", "last month (April 2023)"),
        ("next year", "next year (2024)"),
        ("last Friday", "last Friday (Friday 5 May 2023)"),
        ("last Wednesday", "last Wednesday (Wednesday 3 May 2023)"),
        ("next Monday", "next Monday (Monday 15 May 2023)"),
        ("due on Friday next week", "due on Friday next week (Friday 19 May 2023)"),
        ("last summer", "last summer (summer 2022)"),
        ("last May", "last May (May 2022)"),
        ("two days ago", "two days ago (8 May 2023)"),
        ("about 3 weeks ago", "about 3 weeks ago (19 April 2023)"),
        ("two years ago", "two years ago (2021)"),
        ("It is due in 3 days.", "It is due in 3 days (13 May 2023)."),
        ("will be cut in 2 days and in 3 days", "will be cut in 2 days (12 May 2023) and in 3 days (13 May 2023)"),
        ("We will meet in a year's time", "We will meet in a year's (2024) time"),
        ("last year's plan", "last year's (2022) plan"),
    ],
)
def test_it_writes_the_date_beside_an_english_phrase(sentence: str, beside: str) -> None:
    assert resolve(sentence, WEDNESDAY) == beside


@pytest.mark.parametrize(
    ("sentence", "instead"),
    [
        ("Yesterday I moved", "On 9 May 2023 I moved"),
        ("I moved yesterday", "I moved on 9 May 2023"),
        ("broken since yesterday", "broken since 9 May 2023"),
        ("Last week was quiet", "The week before 10 May 2023 was quiet"),
        ("We changed it last month", "We changed it in April 2023"),
        ("about a year ago", "around May 2022"),
        ("two years ago", "around 2021"),
        ("It will start in 2 days", "It will start on 12 May 2023"),
        ("last year's plan", "last year's (2022) plan"),
        ("wait until next month", "wait until June 2023"),
    ],
)
def test_it_writes_the_date_instead_of_the_phrase_in_a_fact(sentence: str, instead: str) -> None:
    assert resolve(sentence, WEDNESDAY, replace=True) == instead


@pytest.mark.parametrize(
    "sentence",
    [
        'We could call it "Visit the zoo tomorrow".',
        "The label says “ready next week” in red.",
        "If somebody says, I'll get it next week, you're dead.",
        "This is on my list of things until next next week.",
    ],
)
def test_a_date_that_is_quoted_or_only_supposed_is_nobody_s_day(sentence: str) -> None:
    assert resolve(sentence, WEDNESDAY, replace=True) == sentence


@pytest.mark.parametrize(
    ("sentence", "beside"),
    [
        ("Gestern lief es", "Gestern (2023-05-09) lief es"),
        ("Gestern Morgen früh fiel es aus", "Gestern Morgen (2023-05-09) früh fiel es aus"),
        ("letzte Woche", "letzte Woche (2023-05-01/2023-05-07)"),
        ("vor zwei Wochen", "vor zwei Wochen (2023-04-26)"),
        ("letzten Freitag", "letzten Freitag (2023-05-05)"),
        ("morgen früh", "morgen früh (2023-05-11)"),
        ("la semaine dernière", "la semaine dernière (2023-05-01/2023-05-07)"),
        ("il y a 3 jours", "il y a 3 jours (2023-05-07)"),
        ("hier soir", "hier soir (2023-05-09)"),
        ("vendredi dernier", "vendredi dernier (2023-05-05)"),
        ("ayer cambió", "ayer (2023-05-09) cambió"),
        ("hace dos meses", "hace dos meses (2023-03)"),
        ("ontem mudou", "ontem (2023-05-09) mudou"),
        ("há três dias", "há três dias (2023-05-07)"),
        ("sexta-feira passada", "sexta-feira passada (2023-05-05)"),
        ("我们昨天决定", "我们昨天(2023-05-09)决定"),
        ("上周五上线", "上周五(2023-05-05)上线"),
        ("我们三天前开始", "我们三天前(2023-05-07)开始"),
        ("先週の金曜日に", "先週の金曜日(2023-05-05)に"),
        ("昨日の会議", "昨日(2023-05-09)の会議"),
        ("来月から", "来月(2023-06)から"),
    ],
)
def test_it_knows_the_common_phrases_of_other_languages(sentence: str, beside: str) -> None:
    assert resolve(sentence, WEDNESDAY) == resolve(sentence, WEDNESDAY, replace=True) == beside


@pytest.mark.parametrize(
    "sentence",
    [
        "next Friday",  # said on a Wednesday: in two days, or in nine?
        "We built it in 3 days",
        "in the last week of May",
        "the next day it worked",
        "we wed our may with now",
        "see yesterday.py and last_week",
        "this sun is hot",
        "hier ist der Plan",
        "Guten Morgen",
        "jeden Morgen",
        "il y a 2 ans de travail",
        "por la mañana",
        "三天前往北京",
        "说明年龄",
        "以上周期",
        "近来年轻人",
        "yesterday (9 May 2023)",
        "来週金（5月19日）",
        "9999 years ago",
    ],
)
def test_it_leaves_alone_what_it_is_not_sure_of(sentence: str) -> None:
    assert resolve(sentence, WEDNESDAY) == sentence


@settings(deadline=None)
@given(st.text(), st.dates())
def test_it_survives_any_text_on_any_day(text: str, day: date) -> None:
    assert isinstance(resolve(text, day, replace=True), str)


#: Whole phrases, and parts that complete or spoil one.
PIECES = (
    "yesterday|the day before yesterday|tomorrow night|last night|last week|this week|the week before last|"
    "last|next|this past|week|weekend|last summer|next May|year|years ago|2 days ago|in 2 days|"
    "in a couple of months|in a year|in|2|99|days|from now|ago|about|last Fri|next Monday|Friday|Monday,|of|"
    "last year's|will|is|due|was|at|every|the|on|by|Yesterday|In 3 weeks|gestern|morgen|morgen früh|bis|guten|"
    "hier|hier soir|depuis|on|mañana|por la mañana|pasado|pasado mañana|hasta|lunes|letzten|Freitag|vendredi|"
    "dernier|vor|vor zwei Wochen|il y a 3 jours|hace|ans|ayer|ontem|semana que vem|próxima semana|去年|上周|上周五|"
    "来週|来週金|金|先週の金曜日|の|曜日|三天前|三|天|前|一昨日|昨日|日|"
    "昨天|五|个|月|年|上个星期|,|. |!|\n|(|)|（|/|-|@|："
).split("|")
PIECES_OF_TEXT = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", ".", " ", " "])), max_size=14)


@settings(deadline=None)
@given(PIECES_OF_TEXT.map(lambda sentence: "".join(map("".join, sentence))), st.dates(), st.booleans())
@example("It will start in 2 days in 2 days", WEDNESDAY, False)  # both phrases have the same lead
@example("It will in a couple of months be so long a time that nobody minds, in 2 days", WEDNESDAY, True)
@example("will last Friday in 2 days", WEDNESDAY, True)  # "last Friday in May" is another Friday
@example("昨天yesterday", WEDNESDAY, False)  # attached to a phrase that gets its date
@example("昨天.yesterday", WEDNESDAY, False)
@example("三天前昨天", WEDNESDAY, False)
@example("上周一昨日", WEDNESDAY, False)
@example("来週金", WEDNESDAY, False)  # a shorter phrase within a closed one
@example("gestern morgen früh", WEDNESDAY, False)  # that morning, not the next
@example("hier yesterday", WEDNESDAY, True)  # "hier on a vu" is French, "on 9 May" is not
@example("yesterday days ago", date(99, 5, 10), True)  # not 99 days ago
def test_it_changes_nothing_the_second_time(sentence: str, day: date, replace: bool) -> None:
    once = resolve(sentence, day, replace=replace)
    assert resolve(once, day, replace=replace) == once


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("I joined on 7 May 2023, and it opens in June 2023.", "I joined on 7 May, and it opens in June."),
        ("In the week before 8 May 2023 we met.", "Last week we met."),
        ("It is ready for the week after 8 May 2023.", "It is ready for next week."),
        ("Founded in 2023, moved on 7 May 2022.", "Founded in 2023, moved on 7 May 2022."),
        ("In the week before 9 May 2023 we met.", "In the week before 9 May we met."),
        ("The fair was on 3 December 2023.", "The fair was on 3 December 2023."),
        ("Build 7 May 2023-2 failed.", "Build 7 May 2023-2 failed."),
    ],
)
def test_it_does_not_repeat_what_a_heading_beside_it_says(sentence: str, shown: str) -> None:
    assert shorten_dates(sentence, "8 May 2023") == shown


@pytest.mark.parametrize("heading", ["", "-", "Week of", "May", "8 mai 2023"])
def test_a_heading_without_a_date_shortens_nothing(heading: str) -> None:
    assert shorten_dates("I joined on 7 May 2023.", heading) == "I joined on 7 May 2023."

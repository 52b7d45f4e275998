"""The common phrases of German, French, Spanish, Portuguese, Chinese and Japanese."""

import re
from collections.abc import Callable
from datetime import date

from memorybank.dates.phrases import Phrases, Writing
from memorybank.dates.spans import Span, Unit, on_weekday, shifted

# phrase → unit, how many from now. Words that mean something else in another of these languages
# are in UNSURE with the neighbours that settle it.
PHRASES: dict[str, tuple[Unit, int]] = {
    # German
    "gestern": ("day", -1), "gestern morgen": ("day", -1), "vorgestern": ("day", -2), "übermorgen": ("day", 2),
    "letzte woche": ("week", -1), "letzter woche": ("week", -1), "vorige woche": ("week", -1),
    "vergangene woche": ("week", -1), "nächste woche": ("week", 1), "nächster woche": ("week", 1),
    "kommende woche": ("week", 1), "letzten monat": ("month", -1), "letztem monat": ("month", -1),
    "vorigen monat": ("month", -1), "nächsten monat": ("month", 1), "nächstem monat": ("month", 1),
    "letztes jahr": ("year", -1), "letzten jahr": ("year", -1), "voriges jahr": ("year", -1),
    "nächstes jahr": ("year", 1), "nächsten jahr": ("year", 1), "dieses jahr": ("year", 0),
    # French
    "avant-hier": ("day", -2), "après-demain": ("day", 2), "demain": ("day", 1),
    "la semaine dernière": ("week", -1), "la semaine passée": ("week", -1),
    "la semaine prochaine": ("week", 1), "le mois dernier": ("month", -1), "le mois prochain": ("month", 1),
    "l'année dernière": ("year", -1), "l’année dernière": ("year", -1), "l'an dernier": ("year", -1),
    "l’an dernier": ("year", -1), "l'année prochaine": ("year", 1), "l’année prochaine": ("year", 1),
    "cette année": ("year", 0),
    # Spanish
    "ayer": ("day", -1), "anteayer": ("day", -2), "antes de ayer": ("day", -2), "pasado mañana": ("day", 2),
    "la semana pasada": ("week", -1), "la próxima semana": ("week", 1), "la semana que viene": ("week", 1),
    "el mes pasado": ("month", -1), "el próximo mes": ("month", 1), "el mes que viene": ("month", 1),
    "el año pasado": ("year", -1), "el próximo año": ("year", 1), "el año que viene": ("year", 1),
    "este año": ("year", 0),
    # Portuguese
    "ontem": ("day", -1), "anteontem": ("day", -2), "amanhã": ("day", 1), "depois de amanhã": ("day", 2),
    "semana passada": ("week", -1), "próxima semana": ("week", 1), "semana que vem": ("week", 1),
    "mês passado": ("month", -1), "próximo mês": ("month", 1), "mês que vem": ("month", 1),
    "ano passado": ("year", -1), "próximo ano": ("year", 1), "ano que vem": ("year", 1),
    # Chinese, simplified and traditional
    "前天": ("day", -2), "昨天": ("day", -1), "明天": ("day", 1), "后天": ("day", 2), "後天": ("day", 2),
    "上周": ("week", -1), "上週": ("week", -1), "上星期": ("week", -1), "上个星期": ("week", -1),
    "下周": ("week", 1), "下週": ("week", 1), "下星期": ("week", 1), "下个星期": ("week", 1),
    "上个月": ("month", -1), "上個月": ("month", -1), "下个月": ("month", 1), "下個月": ("month", 1),
    "去年": ("year", -1), "明年": ("year", 1), "今年": ("year", 0),
    # Japanese
    "一昨日": ("day", -2), "おととい": ("day", -2), "昨日": ("day", -1), "明日": ("day", 1), "明後日": ("day", 2),
    "先週": ("week", -1), "来週": ("week", 1), "先月": ("month", -1), "来月": ("month", 1), "昨年": ("year", -1),
    "一昨年": ("year", -2), "来年": ("year", 1),
}  # fmt: skip

# hier is "here" in German, morgen also "morning", mañana too: each needs a sign in front of or behind it.
UNSURE: tuple[tuple[str, tuple[Unit, int]], ...] = (
    (r"(?:c'était |depuis |d'|d’)hier", ("day", -1)),
    (r"hier (?:soir|matin|après-midi)", ("day", -1)),
    (r"hier(?=,? (?:j'|j’|on (?!\d|the |\w+day )|nous |il |elle |ils |elles |je ))", ("day", -1)),
    (r"(?:bis|ab|erst|schon|für) morgen", ("day", 1)),
    (r"(?<!guten )(?<!heute )(?<!jeden )morgen (?:früh|abend|nachmittag|vormittag|mittag)", ("day", 1)),
    (r"(?:para|hasta|desde) mañana", ("day", 1)),
    (r"mañana (?:por la (?:mañana|tarde|noche)|a las? \d{1,2})", ("day", 1)),
)

NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "", "einem einer un une una um uma 一", "zwei deux dos dois duas 二 两 兩", "drei trois tres três 三",
            "vier quatre cuatro quatro 四", "fünf cinq cinco 五", "sechs six seis 六", "sieben sept siete sete 七",
            "acht huit ocho oito 八", "neun neuf nueve nove 九", "zehn dix diez dez 十",
        )
    )
    for word in words.split()
}  # fmt: skip

UNITS: dict[str, Unit] = {
    "tag": "day", "tagen": "day", "woche": "week", "wochen": "week", "monat": "month", "monaten": "month",
    "jahr": "year", "jahren": "year", "jour": "day", "jours": "day", "semaine": "week", "semaines": "week",
    "mois": "month", "an": "year", "ans": "year", "día": "day", "días": "day", "semana": "week", "semanas": "week",
    "mes": "month", "meses": "month", "año": "year", "años": "year", "dia": "day", "dias": "day", "mês": "month",
    "ano": "year", "anos": "year", "天": "day", "日": "day", "周": "week", "週": "week", "週間": "week",
    "星期": "week", "个星期": "week", "个月": "month", "個月": "month", "か月": "month", "ヶ月": "month",
    "ヵ月": "month", "年": "year",
}  # fmt: skip

WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "montag lundi lunes segunda 一 月", "dienstag mardi martes terça 二 火",
            "mittwoch mercredi miércoles quarta 三 水",
            "donnerstag jeudi jueves quinta 四 木", "freitag vendredi viernes sexta 五 金",
            "samstag samedi sábado 六 土", "sonntag dimanche domingo 日 天",
        )
    )
    for name in names.split()
}  # fmt: skip

CJK = r"\u3040-\u30ff\u3400-\u9fff"
# What is glued to another phrase stays glued to it when that has its date.
GLUED = r"(?<!\d\))"
OPEN, CLOSE = rf"(?<![\w/@#$-]){GLUED}", r"(?![\w/@=-]|\.\w)"


def choice(words: list[str]) -> str:
    """An alternation, longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


def spelled(words: dict[str, int] | dict[str, Unit] | dict[str, tuple[Unit, int]], cjk: bool) -> list[str]:
    """The table's words in, or not in, Chinese or Japanese script."""
    return [word for word in words if bool(re.match(f"[{CJK}]", word)) is cjk]


latin_n = rf"(?P<n>\d{{1,3}}|{choice(spelled(NUMBERS, False))})"
latin_unit = rf"(?P<unit>{choice(spelled(UNITS, False))})"
latin_day = rf"(?P<weekday>{choice(spelled(WEEKDAYS, False))})(?:-feira)?"
# Characters that make another word of what looks like a phrase: 说明|年龄, 以上|周期, 前往, 来年轻人.
BESIDE = rf"{GLUED}(?<![大过過以之说說证證表声聲发發透近后後从從往未\d])"
INSIDE = r"(?![度轻輕龄齡级級期围圍边邊岁歲气氣]|の?[月火水木金土日]曜|[一二三四五六日天](?![次个個天年月]))"
FIXED = re.compile(
    rf"{OPEN}(?P<latin>{choice(spelled(PHRASES, False))}){CLOSE}"
    rf"|{BESIDE}(?P<cjk>{choice(spelled(PHRASES, True))}){INSIDE}",
    re.IGNORECASE,
)
AGO = re.compile(
    rf"{OPEN}(?:vor|il y a|hace|há) {latin_n} {latin_unit}{CLOSE}(?! (?:de |d'|d’))"
    rf"|{GLUED}(?<![\d一二两兩三四五六七八九十百千万第几幾数數])(?P<cn>\d{{1,3}}|[一二两兩三四五六七八九十]) ?"
    rf"(?P<cunit>{choice(spelled(UNITS, True))})(?:以前|之前|前(?![往提端后後面来來进進]))",
    re.IGNORECASE,
)
LAST_WEEKDAY = re.compile(
    rf"{OPEN}(?:(?:letzten|vergangenen|vorigen) {latin_day}"
    rf"|{latin_day.replace('weekday', 'after')} (?:dernier|pasado|passada|passado)){CLOSE}",
    re.IGNORECASE,
)
WEEK_AND_DAY = re.compile(
    r"(?P<turn>上|下|先|来)(?:个)?(?:周|週|星期)の?(?P<weekday>[一二三四五六日天月火水木金土])(?:曜日?)?+"
)


def at(said_on: date, unit: Unit, by: int) -> Span | None:
    """The unit so many from now."""
    day = shifted(said_on, unit, by)
    return Span(unit, day) if day else None


def ago(match: re.Match[str], said_on: date) -> Span | None:
    """vor zwei Wochen, il y a 3 jours, 两年前."""
    written, unit = match["n"] or match["cn"], UNITS[(match["unit"] or match["cunit"]).lower()]
    count = int(written) if written.isdecimal() else NUMBERS[written.lower()]
    span = at(said_on, unit, -count)
    return Span("day", span.day) if span and unit == "week" else span


def last_weekday(match: re.Match[str], said_on: date) -> Span | None:
    """letzten Freitag, vendredi dernier: the latest one."""
    wanted = WEEKDAYS[(match["weekday"] or match["after"]).lower()]
    return at(said_on, "day", -((said_on.weekday() - wanted - 1) % 7 + 1))


def week_and_day(match: re.Match[str], said_on: date) -> Span | None:
    """上周五, 先週の金曜日: a day of the last or next calendar week."""
    day = on_weekday(said_on, WEEKDAYS[match["weekday"]], 1 if match["turn"] in "下来" else -1)
    return Span("day", day) if day else None


def fixed(match: re.Match[str], said_on: date) -> Span | None:
    """gestern, le mois dernier, 来年: what the table says."""
    return at(said_on, *PHRASES[match[0].lower()])


Reading = Callable[[re.Match[str], date], Span | None]


def always(unit: Unit, by: int) -> Reading:
    """The same whatever is matched."""
    return lambda match, said_on: at(said_on, unit, by)


RULES: tuple[tuple[re.Pattern[str], Reading], ...] = (
    (WEEK_AND_DAY, week_and_day),
    (AGO, ago),
    (LAST_WEEKDAY, last_weekday),
    (FIXED, fixed),
    *((re.compile(rf"{OPEN}(?:{pattern}){CLOSE}", re.IGNORECASE), always(*offset)) for pattern, offset in UNSURE),
)


def beside(phrase: str, span: Span) -> str:
    """The phrase and its date."""
    gap = "" if re.match(f"[{CJK}]", phrase[-1]) else " "
    return f"{phrase}{gap}({span.iso()})"


def claim(phrases: Phrases, said_on: date) -> None:
    """Claim the phrases of these languages, each with its ISO date beside it."""

    def reader(read: Reading) -> Callable[[re.Match[str]], Writing | None]:
        def writing(match: re.Match[str]) -> Writing | None:
            span = read(match, said_on)
            return (lambda before: beside(match[0], span)) if span else None

        return writing

    for pattern, read in RULES:
        phrases.claim(pattern, reader(read))

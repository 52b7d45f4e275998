"""Numbers as written → the values they may mean: ``1,200`` = ``1.200`` = ``1 200`` = 1200, ``two`` = 2.

A value is a string such as "1200" or "3.5". Where writing is ambiguous (``1.200``), all readings count.
"""

import re
from decimal import Decimal

# Grouped thousands (1,200.50), or digits with an optional fraction.
NUMBER = re.compile(r"\d{1,3}(?:([,.'’_ ])\d{3})(?:\1\d{3})*(?!\d)(?:[.,]\d+(?!\d))?|\d+(?:[.,]\d+)?")
_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(r"^\d{1,3}(?:([,.'’_ ])\d{3})(?:\1\d{3})*(?:[.,](\d+))?$")

_SCALES = {
    "k": 10**3, "thousand": 10**3, "tausend": 10**3, "tsd": 10**3, "mille": 10**3, "mil": 10**3, "千": 10**3,
    "万": 10**4, "萬": 10**4,
    "m": 10**6, "mn": 10**6, "mio": 10**6, "million": 10**6, "millions": 10**6, "millionen": 10**6,
    "millón": 10**6, "millones": 10**6, "milhão": 10**6, "milhões": 10**6, "百万": 10**6,
    "亿": 10**8, "億": 10**8,
    "b": 10**9, "bn": 10**9, "mrd": 10**9, "billion": 10**9, "billions": 10**9,
    "milliarde": 10**9, "milliarden": 10**9, "milliard": 10**9, "milliards": 10**9,
}  # fmt: skip
SCALED = re.compile(
    rf"({NUMBER.pattern.replace(chr(92) + '1', '(?:[,.])')})[ -]?("
    + "|".join(sorted(_SCALES, key=len, reverse=True))
    + r")(?![a-zà-ÿ0-9])",
    re.I,
)

# language → the words for 1, 2, 3, …
_WORDS = {
    "en": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty",
    "en ordinal": "first second third fourth fifth sixth seventh eighth ninth tenth",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince",
    "pt": "um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze",
    "pt feminine": "uma duas",
    "zh": "一 二 三 四 五 六 七 八 九 十 十一 十二",
    "ja": "一 二 三 四 五 六 七 八 九 十 十一 十二",
}
_TENS = {
    "en": "ten twenty thirty forty fifty sixty seventy eighty ninety hundred",
    "de": "zehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert",
    "fr": "dix vingt trente quarante cinquante soixante - - - cent",
    "es": "diez veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien",
    "pt": "dez vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem",
}
# Words that mean other things too (once, new, Sept., an article): they prove a number, but claim none.
_AMBIGUOUS = frozenset(
    [
        "one",
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eins",
        "un",
        "uno",
        "um",
        "uma",
        "once",
        "onze",
        "elf",
        "neuf",
        "sept",
        "six",
        "dix",
        "dez",
        "mil",
        "cent",
        "-",
        "acht",
    ]
)


def _table() -> dict[str, set[str]]:
    table: dict[str, set[str]] = {"两": {"2"}, "兩": {"2"}, "both": {"2"}, "couple": {"2"}, "dozen": {"12"}}
    for words in _WORDS.values():
        for value, word in enumerate(words.split(), start=1):
            table.setdefault(word, set()).add(str(value))
    for words in _TENS.values():
        for value, word in enumerate(words.split(), start=1):
            table.setdefault(word, set()).add(str(value * 10))
    for ten, word in enumerate(_TENS["en"].split()[1:9], start=2):
        for unit, small in enumerate(_WORDS["en"].split()[:9], start=1):
            table[f"{word}-{small}"] = table[f"{word} {small}"] = {str(ten * 10 + unit)}
    return table


WORDS = _table()
CLAIMING_WORDS = {word: values for word, values in WORDS.items() if word.isascii() or word[0] < "\u3000"}
for _word in _AMBIGUOUS | {"both", "couple", "dozen"}:
    CLAIMING_WORDS.pop(_word, None)

_LATIN_WORD = re.compile(
    r"(?<![\w])(?:" + "|".join(sorted((w for w in WORDS if w[0] < "\u3000"), key=len, reverse=True)) + r")(?![\w])"
)
# Digits here name something, they do not count anything.
_NO_NUMBER = re.compile(r"(?<![a-zà-ÿ0-9_.])(?:[a-zà-ÿͰ-ӿ_]+\d[a-zà-ÿͰ-ӿ0-9_]*(?:\.\d+)*|\d+(?:\.\d+){2,}(?!,?\d))")
_CJK_NUMERAL = re.compile("十[一二]|[一二三四五六七八九十两兩]")


def readings(written: str) -> frozenset[str]:
    """Every value one written number may mean."""
    found = set()
    grouped = _GROUPED.match(written)
    if grouped and not written.startswith("0"):
        fraction = grouped[2]
        whole = written[: -len(fraction) - 1] if fraction else written
        found.add(_plain("".join(_DIGITS.findall(whole)), fraction or ""))
    parts = re.split(r"[.,]", written)
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        # Kept as written when ambiguous: 1,200 may be 1.200, but is not taken for 1.2.
        found.add(f"{_plain(parts[0])}.{parts[1]}" if grouped else _plain(*parts))
    if len(parts) == 1 and written.isdigit():
        found.add(_plain(written))
    return frozenset(found)


def _plain(whole: str, fraction: str = "") -> str:
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def scaled(written: str, scale: str) -> frozenset[str]:
    """The values of ``1.2`` ``million``."""
    factor = _SCALES.get(scale.casefold())
    if not factor:
        return frozenset()
    return frozenset(_plain(*_times(value, factor)) for value in readings(written) if len(value) < 20)


def _times(value: str, factor: int) -> list[str]:
    return format(Decimal(value) * factor, "f").split(".")


def values(text: str) -> frozenset[str]:
    """Every value ``text`` (casefolded) states, in digits or words; not those inside ``v2.1.3`` or ``x3f9``."""
    text = _NO_NUMBER.sub(" ; ", text)
    found: set[str] = set()
    for match in NUMBER.finditer(text):
        found |= readings(match[0])
        if match[1] == " " or match[0].count(".") + match[0].count(",") > 1:
            found.update(_plain(digits) for digits in _DIGITS.findall(match[0]))
    for match in SCALED.finditer(text):
        found |= scaled(match[1], match[match.lastindex or 0])
    for match in _LATIN_WORD.finditer(text):
        found |= WORDS[match[0]]
    for match in _CJK_NUMERAL.finditer(text):
        found |= WORDS.get(match[0], set())
    return frozenset(found)

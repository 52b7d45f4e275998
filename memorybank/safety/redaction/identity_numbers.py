"""Find numbers of people and accounts: cards, bank accounts, passports, tax numbers, number plates, dates of birth.

A check digit proves some of them (python-stdnum); the others need a word in front that says what they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from memorybank.language import alternation, collect
from memorybank.language.prefilter import Finder, Patterns
from memorybank.language.terms import FUNCTION_WORDS
from memorybank.safety.redaction.connectors import EQUALS, any_whole_words
from memorybank.safety.redaction.spans import MASK_PLACEHOLDER, SecretSpan, before_numbers
from memorybank.safety.tables import cells

#: The kinds of mask that this module makes.
IDENTITY_KINDS = ("iban", "card number", "tax number", "id number", "date of birth")

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d\d(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![a-z0-9])", re.I)
_CARD = re.compile(r"(?<![a-zA-Z\d_.,:/+-])[3-6]\d{3}(?:[ .-]?\d){9,15}(?![a-zA-Z\d_-]|[.,]\d)")
_CARD_BEGINS = re.compile(r"4|5[1-5]|2[2-7]|6(?:011|[245])|35|3[47]")
# Recognised by form alone; each with modules of python-stdnum, one of which must accept the number.
_FORMS: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (kind, re.compile(rf"(?<![a-zA-Z\d_./:-])(?:{pattern})(?![a-zA-Z\d_-]|[./]\d)"), modules)
    for kind, pattern, modules in (
        ("tax number", r"[A-Z]{6}\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z]", ()),
        ("tax number", r"\d{3}\.\d{3}\.\d{3}-\d\d|\d{2}\.\d{3}\.\d{3}/\d{4}-\d\d", ()),
        ("tax number", r"\d{2} \d{3} \d{3} \d{3}", ("de.idnr",)),
        ("id number", r"\d\d ?[0-3]\d[01]\d{3} ?[A-Z] ?\d{3}", ()),
        ("id number", r"\d{8}-?[A-HJ-NP-TV-Z]|[XYZ]-?\d{7}-?[A-Z]", ("es.dni", "es.nie")),
        ("id number", r"\d{17}[\dX]", ("cn.ric",)),
        ("id number", r"756\.\d{4}\.\d{4}\.\d\d", ("ch.ssn",)),
        ("id number", r"[12]\s?\d\d\s?(?:0[1-9]|1[0-2]|[2-9]\d)\s?\d[\dAB]\s?\d{3}\s?\d{3}\s?\d\d", ("fr.nir",)),
        ("id number", r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]", ()),
        ("id number", r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d", ()),
        ("id number", r"(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}", ("us.ssn",)),
        ("id number", r"\d{6}[-+]\d{4}", ("se.personnummer", "dk.cpr", "lv.pk")),
        ("id number", r"\d{6}/\d{3,4}", ("cz.rc",)),
        ("id number", r"\d{6}-[1-8]\d{6}", ("kr.rrn",)),
        ("id number", r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d", ("be.nn",)),
        ("id number", r"\d-\d{4}-\d{5}-\d\d-\d", ("th.pin",)),
        ("id number", r"\d{5}-\d{7}-\d", ("pk.cnic",)),
        ("id number", r"\d{1,2}\.\d{3}\.\d{3}-[\dK]", ("cl.rut",)),
        ("id number", r"[A-Z]{1,2}\d{6}\([\dA]\)", ()),
        ("id number", r"[STFGM]\d{7}[A-Z]", ()),
        ("id number", r"\d{7}[A-W][A-I]?", ("ie.pps",)),
        ("id number", r"[A-HJ-PR-Y]{2}\d\d [A-HJ-PR-Z]{3}", ()),
        ("id number", r"[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} [1-9]\d{2,3}[EH]?", ()),
        ("iban", r"\d\d-\d\d-\d\d(?=\W{1,3}(?:\w{1,12}\W{1,2}){0,3}\d{8}(?!\d))", ()),
        ("tax number", r"\d\d-\d{8}-\d", ("ar.cuit",)),
        ("tax number", r"[A-Z&Ñ]{4}\d{6}[A-Z\d]{3}", ("mx.rfc",)),
        ("id number", r"\d{6}[-+A]\d{3}[\dA-FHJ-NPR-Y]", ("fi.hetu",)),
    )
)
_IDS, _BORN = (
    re.compile(any_whole_words(of), re.I) for of in (lambda pack: pack.personal.ids, lambda pack: pack.personal.born)
)
_ORDINARY_IDS = re.compile(any_whole_words(lambda pack: pack.personal.ordinary_ids), re.I)
# Between such a word and its number: "plate HH-KV 482", "the plate of the van is", "plates: Ana", a masked number.
_TO_NUMBER = re.compile(rf"(?:{EQUALS}|\s?{MASK_PLACEHOLDER})[^;]*|[^;]*{EQUALS}[^\w;]{{0,3}}|[^\w;,.]{{1,3}}", re.I)
_TICKET = re.compile(r"([A-Z]{2,5}-)(\d{1,5})(?!\d)")
_BIRTHDAYS = re.compile(any_whole_words(lambda pack: pack.personal.birthdays), re.I)
#: A word that begins with a lower-case letter, so it is not a name.
_SMALL_WORD = re.compile(r"(?<![\w'’])[a-zà-ÿ]{2,}")
_ID = re.compile(
    r"(?<![a-zA-Z\d_./:+-])(?:[A-Z]{1,3}-[A-Z]{1,2} ?\d{1,4}[EH]?"
    r"|[A-Z0-9]{1,20}(?:[ ./-][A-Z0-9]{1,12}){0,7})(?![a-zA-Z\d_])"
)
_MONTHS = alternation(re.escape(name) for names in collect(lambda pack: pack.dates.months) for name in names.split())
_ORDINAL, _OF = (
    alternation(map(re.escape, collect(of))) for of in (lambda pack: pack.dates.ordinals, lambda pack: pack.dates.of)
)
_DATE = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4}|\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日"
    rf"|(?<![-/.\d])(?:19|20)\d{{6}}(?!\d)"
    rf"|\d{{1,2}}(?:{_ORDINAL}|\.)? (?:(?:{_OF}) )?(?:{_MONTHS})\.?,? (?:(?:{_OF}) )?\d{{2,4}}"
    rf"|(?:{_MONTHS})\.? \d{{1,2}}(?:{_ORDINAL})?,? \d{{4}}",
    re.I,
)
# "On 3 May 2014 she was born": the words follow directly after the date.
_BORN_ON = re.compile(rf"(?P<value>{_DATE.pattern}) (?:\w{{1,10}} )?(?:{_BORN.pattern})", re.I)
# "Anna (b. 1984-02-03)", "Otto (*12.3.1984)".
_BORN_IN_BRACKETS = re.compile(rf"\((?:\*|b\.|born|geb\.|n[ée]e?|nat[oa]|nac\.) ?(?P<value>{_DATE.pattern})\)", re.I)
# "Birthday list for the wall: Odalys 14 March 1989, Bertram 2 Nov 1974": the cue may be far from such a list.
_NAME = r"[A-ZÀ-Ý][\w'’-]{1,24}(?: [A-ZÀ-Ý][\w'’-]{1,24}){0,2}"
_NAMED_DATE = rf"{_NAME}:? \(?(?i:{_DATE.pattern})\)?"
_BORN_LIST = re.compile(rf"(?<!\w){_NAMED_DATE}(?:(?:[,;]|\n| \w{{1,3}}(?= ))\s?(?:[-*•] )?{_NAMED_DATE}){{1,24}}")
MAX_CHARACTERS_TO_LIST = 160
_SORT_CODE = re.compile(
    r"\b(?:sort[ -]?codes?(?:'s)?|sc|blz)\b(?:\sis)?[\s:=]{1,3}(?P<value>\d\d[- ]?\d\d[- ]?\d\d(?:\d\d)?)(?!\d)", re.I
)
#: How many digits the accounts of these countries have when IBANs are written without the country: all are digits.
DIGITS_OF_ACCOUNTS = {26: "PL", 20: "DE", 22: "ES", 23: "PT", 18: "AT"}
_DOMESTIC_ACCOUNT = re.compile(r"(?<![\w.,:/+-])\d\d(?: \d{4}){4,6}(?: \d{1,3})?(?![\w-]| ?\d|[.,]\d)")
# Beside a card number: until when it is valid, and the digits on its back.
_CARD_DETAIL = re.compile(
    r"(?<![\d/.,:-])(?:(?:0[1-9]|1[0-2])\s?[/-]\s?(?:20)?[2-4]\d|\d{3,4})(?![\d/:€$%-]|[.,]\d|\s?[€$£])"
)
# The lines of a passport or an identity card that machines read (ICAO 9303).
_MACHINE_READABLE = re.compile(r"(?<![\w<])(?=[A-Z0-9<]{0,42}<[A-Z0-9<]{0,42}<)[A-Z0-9<]{30,44}(?![\w<])")
_VEHICLE = re.compile(r"(?<![\w-])(?=[A-Z]{0,16}\d)(?=\d{0,16}[A-Z])[A-HJ-NPR-Z0-9]{17}(?![\w-])")
_VEHICLE_NAME = re.compile(r"(?<!\w)(?:VIN|FIN|frame|[Ff]ahrgestell\w*|[Bb]astidor|[Cc]h[aâ]ssis?|[Tt]elaio)(?!\w)")
_VEHICLE_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_VEHICLE_LETTERS = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True))
#: The names of schemes that number people, and the modules of python-stdnum that check their digits.
_SCHEMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tfn", ("au.tfn",)),
    ("rijksregisternummer|num[eé]ro national|nn|niss|insz", ("be.nn", "be.bis")),
    ("egn", ("bg.egn",)),
    ("cpf", ("br.cpf",)),
    ("sin|nas", ("ca.sin",)),
    ("ahv|avs|navs13?|ahvn13?", ("ch.ssn",)),
    ("ru[tn]|c[eé]dula", ("cl.rut", "do.cedula", "ec.ci")),
    ("rodn[eé] [cč][ií]slo|rc|r[cč]", ("cz.rc", "sk.rc")),
    ("cpr|p[- ]?tal", ("dk.cpr",)),
    ("isikukood|asmens koda[s-z]", ("ee.ik", "lt.asmens")),
    ("d\\.?n\\.?i|n\\.?i\\.?[ef]", ("es.dni", "es.nie", "pt.nif", "fr.nif")),
    ("hetu|henkil[öo]tunnus", ("fi.hetu",)),
    ("nir|s[eé]curit[eé] sociale|insee", ("fr.nir",)),
    ("nhs", ("gb.nhs",)),
    ("utr", ("gb.utr",)),
    ("amka", ("gr.amka",)),
    ("oib", ("hr.oib",)),
    ("nik|ktp", ("id.nik",)),
    ("pps[n]?", ("ie.pps",)),
    ("teudat zehut|t\\.?z", ("il.idnr",)),
    ("aadhaa?r|uid", ("in_.aadhaar",)),
    ("pan", ("in_.pan",)),
    ("kennitala|kt", ("is_.kennitala",)),
    ("codice fiscale|c\\.?f", ("it.codicefiscale",)),
    ("rrn", ("kr.rrn",)),
    ("curp", ("mx.curp",)),
    ("nric|mykad|ic", ("my.nric",)),
    ("bsn|burgerservicenummer", ("nl.bsn",)),
    ("personnummer|f[øo]dsels(?:nummer|nr)|fnr", ("no.fodselsnummer", "se.personnummer")),
    ("ird", ("nz.ird",)),
    ("cnic", ("pk.cnic",)),
    ("pesel", ("pl.pesel",)),
    ("cnp", ("ro.cnp",)),
    ("em[šs]o|jmbg", ("si.emso",)),
    ("t\\.?c\\.?(?: kimlik)?|kimlik", ("tr.tckimlik",)),
    ("itin", ("us.itin",)),
    ("ssn", ("us.ssn",)),
)
_SCHEME = re.compile(
    "|".join(rf"(?P<s{number}>(?<![^\W_])(?:{names})(?:et|en)?(?!\w))" for number, (names, _) in enumerate(_SCHEMES)),
    re.I,
)
_SCHEME_NUMBER = re.compile(r"(?<![\w.,-])\w{0,4}\d(?:[ .\/-]?\w){5,17}(?!\w)")
#: Maximum distance between an announcement and its number.
MAX_CHARACTERS_TO_NUMBER = 64
#: Digits in the order of counting, or all the same.
_COUNTED = frozenset(
    run[start : start + length]
    for run in ("1234567890", "0123456789", "9876543210", *(digit * 22 for digit in "0123456789"))
    for length in range(6, 23)
    for start in range(max(1, len(run) - length + 1))
)
_SENTENCE_END = re.compile(r"[!?\n。]|(?<=\w{4})\.(?=\s|$)")

_ID_CUES, _BIRTH_CUES, _SCHEME_CUES = (Patterns([(cue, None)]) for cue in (_IDS, _BORN, _SCHEME))
_PATTERNS = Patterns(
    (pattern, None)
    for pattern in (
        _SORT_CODE,
        _DOMESTIC_ACCOUNT,
        _IBAN,
        _CARD,
        _MACHINE_READABLE,
        *(pattern for _, pattern, _ in _FORMS),
        _BORN_ON,
        _BORN_IN_BRACKETS,
    )
)


def find(text: str) -> Iterator[SecretSpan]:
    matches = _PATTERNS.finder(text)
    yield from _accounts(matches)
    yield from _cards(matches(_CARD))
    yield from _named(text)
    yield from _columns(text)
    yield from (SecretSpan(*match.span(), "id number") for match in matches(_MACHINE_READABLE))
    for kind, pattern, modules in _FORMS:
        for match in matches(pattern):
            if not _is_of_one_digit(match[0]) and (
                not modules or any(_is_valid(module)(match[0]) for module in modules)
            ):
                yield SecretSpan(*match.span(), kind)
    yield from _announced(text, _ID_CUES, _ID, "id number", _is_identity_number)
    yield from (
        span
        for span in _announced(text, _BIRTH_CUES, _DATE, "date of birth", _is_of_today)
        if not _is_of_a_party(text, span)
    )
    yield from _birth_lists(text)
    yield from (
        SecretSpan(*match.span("value"), "date of birth")
        for match in matches(_BORN_IN_BRACKETS)
        if _is_of_today(match["value"])
    )
    yield from _vehicles(text)
    yield from (SecretSpan(*match.span("value"), "date of birth") for match in matches(_BORN_ON))


def _announced(
    text: str, cue: Patterns[None], value: re.Pattern[str], kind: str, holds: Callable[[str], bool]
) -> Iterator[SecretSpan]:
    """For each cue, the first value after it in the same sentence for which ``holds`` is true."""
    for match in before_numbers(cue, text, MAX_CHARACTERS_TO_NUMBER + 30):
        rest = text[match.end() : match.end() + MAX_CHARACTERS_TO_NUMBER + 30]
        end = _SENTENCE_END.search(rest)
        for candidate in value.finditer(rest, 0, end.start() if end and end.start() > 2 else len(rest)):
            if candidate.start() <= MAX_CHARACTERS_TO_NUMBER and holds(candidate[0]):
                span = SecretSpan(match.end() + candidate.start(), match.end() + candidate.end(), kind)
                if _is_introduced(match, span):
                    yield span
                    break


def _is_introduced(cue: re.Match[str], value: SecretSpan) -> bool:
    """Whether the cue stands right before the value, or says that it has one; most cues need not."""
    ticket = _TICKET.fullmatch(cue.string, value.start, value.end)
    around = cue.string[max(0, cue.start() - 400) : cue.end() + 400]
    is_of_series = ticket and re.search(rf"(?<!\w){ticket[1]}(?!{ticket[2]}(?!\d))\d", around)
    said = _TO_NUMBER.fullmatch(cue.string, cue.end(), value.start)
    return bool(said) or not (is_of_series or _ORDINARY_IDS.fullmatch(cue[0]))


def _birth_lists(text: str) -> Iterator[SecretSpan]:
    """The dates of a list of names with dates, where the text before it tells of births."""
    for match in _BORN_LIST.finditer(text):
        if _BORN.search(text, max(0, match.start() - MAX_CHARACTERS_TO_LIST), match.start()):
            yield from (SecretSpan(*date.span(), "date of birth") for date in _DATE.finditer(text, *match.span()))


def _vehicles(text: str) -> Iterator[SecretSpan]:
    """Identification numbers of vehicles (ISO 3779): named as such, or with a valid check digit."""
    for match in _VEHICLE.finditer(text):
        if re.search(r"\d{4}\Z", match[0]) and (_is_named_vehicle(text, match.start()) or _has_check_digit(match[0])):
            yield SecretSpan(*match.span(), "id number")


def _is_named_vehicle(text: str, start: int) -> bool:
    return bool(_VEHICLE_NAME.search(text, max(0, start - MAX_CHARACTERS_TO_NUMBER), start))


def _has_check_digit(number: str) -> bool:
    values = [int(sign) if sign.isdigit() else _VEHICLE_LETTERS[sign] for sign in number]
    check = sum(value * weight for value, weight in zip(values, _VEHICLE_WEIGHTS, strict=True)) % 11
    return number[8] == "0123456789X"[check]


def _is_of_today(date: str) -> bool:
    """Whether somebody who was born on the date may be alive."""
    return not re.search(r"(?<!\d)1[0-8]\d\d(?!\d)", date)


def _is_of_a_party(text: str, span: SecretSpan) -> bool:
    """Whether the date is that of an event, not of a birth: other words stand between it and "birthday"."""
    cues = [cue.end() for cue in _BIRTHDAYS.finditer(text, max(0, span.start - MAX_CHARACTERS_TO_NUMBER), span.start)]
    between = text[cues[-1] : span.start] if cues else ""
    plain = (word for word in _SMALL_WORD.findall(between) if word not in FUNCTION_WORDS)
    return any(plain) and not _BORN.search(between)


def _is_of_one_digit(written: str) -> bool:
    """Whether it is a placeholder: "00000000T"."""
    digits = re.findall(r"\d", written)
    return len(digits) > 5 and len(set(digits)) == 1


def _is_identity_number(written: str) -> bool:
    """Whether it is long enough, has enough digits, and is not a year, a date or an amount."""
    digits = sum(map(str.isdigit, written))
    compact = re.sub(r"[^A-Z0-9]", "", written)
    if re.fullmatch(r"(?:19|20)\d\d(?:[-./ ]\d{1,2}){0,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}", written):
        return False
    if (compact.isdigit() and compact in _COUNTED) or _is_of_one_digit(written):  # "12345678", "00000000"
        return False
    if re.fullmatch(r"RFC[ -]?\d{1,5}", written):  # a standard of the internet
        return False
    if re.fullmatch(r"\d{1,3}(?:\.\d{1,5}){3}", written):  # a version
        return False
    if re.fullmatch(r"\d+ (?:EUR|USD|GBP|CHF|JPY|CNY|BRL)", written):  # an amount with its currency
        return False
    return 6 <= len(compact) <= 22 and digits >= (7 if compact.isdigit() else 2)


def _accounts(matches: Finder) -> Iterator[SecretSpan]:
    """IBANs, account numbers that are IBANs without their country, and sort codes."""
    from stdnum import iban

    yield from (SecretSpan(*match.span("value"), "iban") for match in matches(_SORT_CODE))
    for match in matches(_DOMESTIC_ACCOUNT):
        country = DIGITS_OF_ACCOUNTS.get(sum(map(str.isdigit, match[0])), "")
        if country and iban.is_valid(country + match[0], check_country=False):
            yield SecretSpan(*match.span(), "iban")
    for match in matches(_IBAN):
        for end in range(len(match[0]), 14, -1):  # the match may include capitals that follow the number
            if match[0][end - 1 : end + 1].isalnum() and match[0][end : end + 1].isalnum():
                continue
            if iban.is_valid(
                match[0][:end], check_country=False
            ):  # without extra national checks, which made-up numbers fail
                yield SecretSpan(match.start(), match.start() + end, "iban")
                break


def _cards(matches: Iterable[re.Match[str]]) -> Iterator[SecretSpan]:
    from stdnum import luhn

    for match in matches:
        digits = re.sub(r"\D", "", match[0])
        if 13 <= len(digits) <= 16 and _CARD_BEGINS.match(digits) and luhn.is_valid(digits):
            yield SecretSpan(*match.span(), "card number")
            rest = match.end(), match.end() + MAX_CHARACTERS_TO_NUMBER
            yield from (
                SecretSpan(*detail.span(), "card number") for detail in _CARD_DETAIL.finditer(match.string, *rest)
            )


def _named(text: str) -> Iterator[SecretSpan]:
    """Numbers that fulfil the check digits of a scheme that is named before them: "SIN 521 061 531"."""
    for match in before_numbers(_SCHEME_CUES, text, MAX_CHARACTERS_TO_NUMBER):
        number = _SCHEME_NUMBER.search(text, match.end(), match.end() + MAX_CHARACTERS_TO_NUMBER)
        if not number or _is_of_one_digit(number[0]):
            continue
        if any(_is_valid(module)(number[0]) for module in _SCHEMES[int((match.lastgroup or "s0")[1:])][1]):
            yield SecretSpan(*number.span(), "id number")


def _columns(text: str) -> Iterator[SecretSpan]:
    """Numbers below the name of a scheme or of an identity number in a table."""
    for title, start, value in cells(text, lambda part: bool(_SCHEME.fullmatch(part) or _IDS.fullmatch(part))):
        scheme = _SCHEME.fullmatch(title)
        modules = _SCHEMES[int((scheme.lastgroup or "s0")[1:])][1] if scheme else ()
        is_number = any(_is_valid(module)(value) for module in modules) if modules else _ID.fullmatch(value)
        if is_number and _is_identity_number(value):
            yield SecretSpan(start, start + len(value), "id number")


@cache
def _is_valid(module: str) -> Callable[[str], bool]:
    from stdnum import get_cc_module

    country, name = module.split(".")
    known = get_cc_module(country, name)
    return lambda written: bool(known and known.is_valid(written))

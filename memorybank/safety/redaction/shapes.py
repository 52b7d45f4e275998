"""The shape of a word: how much it looks like a password or a key, whatever the context."""

import re
from enum import IntEnum

from memorybank.language import collect_for_masking, literals

_PLACEHOLDER = re.compile(
    # A value of code, such as "form.password", and words that stand for a value.
    r"(?:(?:self|this|os|env|process|config|settings|form|req|request|res|response|ctx|args|opts|options|params|props|data"
    r"|body|user|vars?|local|secrets|inputs|credentials|event|input|item|row)\.[\w.]*|change_?-?me\w*|string|placeholder|redacted"
    r"|your[_-]?\w*|example\w*|dummy\w*|!(?:vault|ref|sub|env\w*|getatt|secret)|[*x•.…_-]+|[$%{<].*|get\w*|https?:.*|(?:vault|env|file|ssm|op|ref|sops)[:+].*|none|null|true|false|undefined|nil|yes|no)",
    re.I,
)
# Versions and sizes; algorithms; colours, hashes, ids; files and paths; calls, flags, packages, addresses.
_TECHNICAL_NAME = re.compile(
    r"(?-i:[a-z]+@[a-z]+\d{0,2})|[A-Za-z]{0,2}\d+(?:[.,:/_+-]\d+)*[a-z%€$°]{0,5}|\d+(?:[.,x×-]\d+)*[- ]?[A-Za-zµ]{1,5}"
    r"|(?:sha|md|base|utf|rsa|aes|ed|argon|scrypt|bcrypt|pbkdf|oauth|x|hs|rs|es|http|tls|ssl|ipv|pkcs|fips|totp|u2f|web|saml|log4|i18|l10|k8|a11|win|amd|arm|h2|p)-?_?\d+\w{0,6}(?:[-_.]?(?:gcm|cbc|url|hex|id|mb4?|hmac|sha)?[-_.]?\d{0,4})"
    r"|[a-z]{2,12}\d{1,3}(?:[.,]\d{1,3}){1,3}|x86[-_]64|utf8mb4|\d\w{0,3}password|#\w+|@[\w.:/?=&%-]+|(?:0x)?[0-9a-f]{6,128}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|[\w.@~-]*(?:/[\w.@{}:*-]*){2,}|/[\w./-]+|[\w-]+(?:\.[\w-]+)*\.(?:py|js|tsx?|jsx?|md|txt|json|ya?ml|toml|html?|css|sql|sh|env|cfg|ini|pdf|docx?|xlsx?|csv|png|jpe?g|svg|zip|gz|tar|log|go|rs|java|kt|rb|php|cs?|cpp|h|xml|pem|crt|key|com|org|net|io|dev|de|local|internal|example|test)"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?|[\w.]+\(.*|--?[\w-]+|[\w.+-]+@\d+(?:\.\d+)+|[\w.+-]+@(?:[\w-]+\.)+\w{2,}(?::[\w./~-]*)?|\w+://.*|\w+[.]\w+\(?.*\)",
    re.I,
)
_CASED = re.compile(
    r"[A-Z\d]+(?:-[A-Z\d]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{1,10}[-_#]?\d+(?:[-._/]\d+)*|[a-z]+(?:_[a-z]+)+\d{0,2}|[a-z]+(?:[A-Z][a-z]+)+"
)
_SIGN = re.compile(r"(?<=\w)[!@#$%^&*+?~=]|[!@#$%^&*+~=](?=\w)")
_BETWEEN = re.compile(r"[^\W\d_](?:\d{1,6}|[!$])[^\W\d_]")
_DIGITS = re.compile(r"\d+")
_JOINED = re.compile(r"[a-z]+[24][a-z]+")
_COMPOUND = re.compile(r"[^\W\d_]{2}[-._:]?[A-Z]|[^\W\d_]_\d|[^\W\d_][-._:][^\W\d_]")
_NAME_PART = re.compile(r"[a-z]{1,20}\d{0,2}|\d{1,8}[a-z]{0,2}")
# Made of names for what it is: "password", "mysecretpassword", "api-key-1".
_OWN_NAME = re.compile(
    r"(?:my|your)?(?:(?:[_-]|super|api)?(?:"
    + literals(
        word
        for of in (
            lambda pack: pack.secrets.passwords,
            lambda pack: pack.secrets.short,
            lambda pack: pack.secrets.key_words,
        )
        for word in collect_for_masking(of)
        if word.isalpha()
    )
    + r")){1,4}[_-]?\d{0,3}",
    re.I,
)
_KNOWN = frozenset(word.casefold() for word in collect_for_masking(lambda pack: pack.secrets.passwords))


# Values that may follow "the token is" without being a token.
_MEASURES = re.compile(
    r"(?:[A-Z]{2,10}-\d+|v?\d+(?:[.,:/-]\d+)*[a-z%€$]{0,3}|(?:sha|md|base|utf|rsa|aes|ed|argon|scrypt|bcrypt|oauth|x|hs|rs|es)-?\d+\w{0,4})"
    r"[.!?]?",
    re.I,
)


class Shape(IntEnum):
    """How much a word looks like a password."""

    NONE = 0
    #: Letters and digits, or a sign among letters: a password directly after an announcement.
    MIXED = 1
    #: Several parts and digits: a password near an announcement.
    COMPOUND = 2
    #: Unlike any word or name.
    ODD = 3


def is_placeholder(word: str) -> bool:
    """Whether it is a placeholder for a value: ``****``, ``$PASSWORD``, ``None``."""
    return bool(_PLACEHOLDER.fullmatch(word) or _OWN_NAME.fullmatch(word))


def is_technical_name(word: str) -> bool:
    """Whether it is a version, ticket, hash, file or address, which a team needs in its memory."""
    return bool(_TECHNICAL_NAME.fullmatch(word) or _CASED.fullmatch(word))


def is_measure(word: str) -> bool:
    """Whether it is a version, ticket, size or algorithm."""
    return bool(_MEASURES.fullmatch(word))


def shape(word: str) -> Shape:
    """How much ``word`` looks like a password."""
    if not 6 <= len(word) <= 128 or is_placeholder(word) or is_technical_name(word) or word.casefold() in _KNOWN:
        return Shape.NONE
    letters, digits = any(map(str.isalpha, word)), any(map(str.isdigit, word))
    signs = len(_SIGN.findall(word))
    if len(_DIGITS.findall(word)) > 2 and word.lower() != word != word.upper():
        return Shape.ODD
    if letters and len(word) >= 7 and ((_BETWEEN.search(word)) or (signs and digits) or signs > 1):
        return Shape.ODD
    if letters and digits and len(word) >= 8 and word != word.lower() and _COMPOUND.search(word):
        return Shape.COMPOUND
    return Shape.MIXED if letters and (digits or signs) else Shape.NONE


def is_compound_name(word: str) -> bool:
    """Whether it is a technical name like ``oauth2proxy`` or ``api-7d9f8b6c5-x2k4q``."""
    return bool(_JOINED.fullmatch(word)) or (word == word.lower() and word.count("-") > 1)


def is_name_of_parts(word: str) -> bool:
    """Whether it is a name of small words and numbers: ``login-secrets-v2``, ``gpt-4o-mini-2024-07-18``."""
    parts = re.split("[_-]", word)
    words = sum(len(part) > 2 and part.isalpha() for part in parts)
    return words > 1 and all(map(_NAME_PART.fullmatch, parts))


def is_random(word: str) -> bool:
    """Whether it is a long machine-made word: letters and digits without order."""
    if (
        not 16 <= len(word) <= 512
        or not re.fullmatch(r"[\w+/=~.-]+", word)
        or (is_technical_name(word) and not re.fullmatch(r"[\da-f]{32}", word, re.I))
    ):
        return False
    digits = sum(map(str.isdigit, word))
    letters = sum(map(str.isalpha, word))
    return (
        digits >= (1 if len(word) >= 24 and word.lower() != word != word.upper() else 2)
        and letters >= 4
        and len(set(word)) >= 5
        and not re.search(r"[a-z]{9}" if len(word) >= 40 else r"[a-z]{7}", word)
    )

"""Turn an account name into the display name before its lines: short, on one line, and only a name.

A model reads these names, so a chosen name could carry instructions. A name that had to be changed gets a hash code of
the account, so that two accounts do not share it.
"""

import re
from hashlib import sha256

from memorybank.language import collect, plain
from memorybank.language.lookalikes import LETTERS, fold, mixes_alphabets
from memorybank.language.work_cache import remembered_by_digest
from memorybank.safety import quarantine
from memorybank.safety.quoting import ROLES
from memorybank.safety.redaction import redact
from memorybank.safety.via import VIA

NEUTRAL_NAME = "a member"
MAX_SPEAKER_CHARACTERS = 40
#: In a name of three words or more, a lower-case word must be a particle of at most this many characters.
MAX_PARTICLE_CHARACTERS = 4

#: Names under which a block or notes have lines of nobody: a chat's notes, the reader, memory itself.
NOTED = "noted"
RESERVED = ROLES | {NOTED, "notes", "memory", "you", "project", "further", "detail"}
DATE_WORDS = frozenset(map(fold, collect(lambda pack: (*pack.dates.signs, *" ".join(pack.dates.months).split()))))
NUMERIC_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}")
EMAIL_ADDRESS = re.compile(r"([^\s@]{1,64})@[^\s@]{1,190}")
# Marks that do not occur in names, and a full stop after a word, which ends a sentence (after an initial it does not).
MARKS_OUTSIDE_NAMES = re.compile(r"[^\w .'’&+-]|\w{4}\. ")


def display_name(account: str) -> str:
    """The name shown before an account's lines: its name, the local part of its address, or a neutral name.

    For a program that records a person's words (“priya, via desk”), each of the two names is converted.
    """
    person, via, program = account.partition(VIA)
    if via and person and program:
        return f"{display_name(person)}{VIA}{display_name(program)}"
    address = EMAIL_ADDRESS.fullmatch(account)
    name = address[1] if address else account
    if not reads_like_a_name(name):
        return f"{NEUTRAL_NAME} ({_code(account)})"
    return (
        f"{name[:MAX_SPEAKER_CHARACTERS].rstrip()} ({_code(account)})"
        if address or len(name) > MAX_SPEAKER_CHARACTERS
        else name
    )


@remembered_by_digest
def reads_like_a_name(text: str) -> bool:
    """Whether the text has no hidden character, markup, mixed alphabets, role, sentence, instruction or secret."""
    words = text.split()
    if not words or plain(text) != text or " ".join(words) != text or MARKS_OUTSIDE_NAMES.search(text):
        return False
    if any(map(mixes_alphabets, LETTERS.findall(text))) or _is_role(text):
        return False
    lower_case = [word for word in words if word[0].islower() and len(word) > MAX_PARTICLE_CHARACTERS]
    return not (len(words) > 2 and lower_case) and not quarantine.reason(text) and not redact(text).kinds


def _is_role(name: str) -> bool:
    """Whether the name is a chat role, a word that memory itself stands under, or a date."""
    words = LETTERS.findall(fold(name))
    if any(map(str.isdigit, name)):
        return bool(NUMERIC_DATE.fullmatch(name)) or (bool(words) and DATE_WORDS.issuperset(words))
    return RESERVED.issuperset(words) or words[0] == NOTED


def _code(account: str) -> str:
    return sha256(account.encode("utf-8", "replace")).hexdigest()[:4]

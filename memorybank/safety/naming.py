"""Turn an account name into the display name of its lines: short, on one line, and nothing but a name.

People who choose a name choose text that a model reads. A name that had to be changed gets a code of the account, so
that two accounts never share one.
"""

import re
from hashlib import sha256

from memorybank.language import plain
from memorybank.language.lookalikes import LETTERS, fold, mixes_alphabets
from memorybank.safety import quarantine
from memorybank.safety.quoting import ROLES
from memorybank.safety.redaction import redact

NEUTRAL_NAME = "a member"
MAX_NAME_CHARACTERS = 40
#: Between a person and the program that speaks for them.
VIA = ", via "
#: In a name of three words or more, a word without a capital is a particle, and at most this long.
MAX_PARTICLE_CHARACTERS = 4

EMAIL_ADDRESS = re.compile(r"([^\s@]{1,64})@[^\s@]{1,190}")
# Marks that no name has, and a full stop after a word, which unlike one after an initial ends a sentence.
MARKS_OUTSIDE_NAMES = re.compile(r"[^\w .'’&+-]|\w{4}\. ")


def display_name(account: str) -> str:
    """The name shown before an account's lines: its name, the local part of its address, or a neutral name.

    Of a program that records somebody's words, “priya, via desk”, it is both names.
    """
    person, via, program = account.partition(VIA)
    if via and person and program:
        return f"{display_name(person)}{VIA}{display_name(program)}"
    address = EMAIL_ADDRESS.fullmatch(account)
    name = address[1] if address else account
    if not reads_like_a_name(name):
        return f"{NEUTRAL_NAME} ({_code(account)})"
    return (
        f"{name[:MAX_NAME_CHARACTERS].rstrip()} ({_code(account)})"
        if address or len(name) > MAX_NAME_CHARACTERS
        else name
    )


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
    return ROLES.issuperset(LETTERS.findall(fold(name))) and not any(map(str.isdigit, name))


def _code(account: str) -> str:
    return sha256(account.encode("utf-8", "replace")).hexdigest()[:4]

"""The name of an account → the name that its lines stand under: short, on one line, and nothing but a name.

Who may choose a name may choose what a model reads. One that had to be changed carries a code of the account, so that
two accounts never share one.
"""

import re
from hashlib import sha256

from memorybank.language import plain
from memorybank.language.lookalikes import LETTERS, folded, is_mixed
from memorybank.safety import quarantine
from memorybank.safety.quoting import ROLES
from memorybank.safety.redaction import redact

NOBODY = "a member"
LONGEST = 40
#: In a name of three words or more, a word without a capital is a particle, and has at most so many letters.
PARTICLE = 4

ADDRESS = re.compile(r"([^\s@]{1,64})@[^\s@]{1,190}")
# Marks that no name has, and a full stop where a sentence ends, not an initial.
MARKS = re.compile(r"[^\w .'’&+-]|\w{4}\. ")


def display_name(account: str) -> str:
    """What stands before the lines of an account: its name, the local part of its address, or what says nothing."""
    address = ADDRESS.fullmatch(account)
    name = address[1] if address else account
    if not reads_like_a_name(name):
        return f"{NOBODY} ({_code(account)})"
    return f"{name[:LONGEST].rstrip()} ({_code(account)})" if address or len(name) > LONGEST else name


def reads_like_a_name(text: str) -> bool:
    """Nothing hidden, no markup, no mixed alphabets, no role, no sentence, no instruction, nothing to be masked."""
    words = text.split()
    if not words or plain(text) != text or " ".join(words) != text or MARKS.search(text):
        return False
    if any(map(is_mixed, LETTERS.findall(text))) or _is_role(text):
        return False
    small = [word for word in words if word[0].islower() and len(word) > PARTICLE]
    return not (len(words) > 2 and small) and not quarantine.reason(text) and not redact(text).found


def _is_role(name: str) -> bool:
    return ROLES.issuperset(LETTERS.findall(folded(name))) and not any(map(str.isdigit, name))


def _code(account: str) -> str:
    return sha256(account.encode("utf-8", "replace")).hexdigest()[:4]

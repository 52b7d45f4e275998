"""Find a name that stands by itself at the edge of a text, where a reader takes it for the speaker of the rest.

"Priya Raman | approved", "Signed-off-by: Priya", "## The CFO", "… – Priya". No form is listed: a text is cut at marks,
and one of its first two parts or its last part is a name, an office or a role, and nothing else. No verb of the text
belongs to such a name. All checks take linear time.
"""

import re
from collections.abc import Collection

from memorybank.language import collect
from memorybank.language.characters import cjk_length
from memorybank.language.lookalikes import fold
from memorybank.language.terms import ARTICLES
from memorybank.language.work_cache import remembered_by_digest
from memorybank.safety.quoting import ROLES, is_capitalised, name_words
from memorybank.safety.rule_signs import OFFICIALS, signs_of

#: Marks that set a name off, and the ends of sentences and lines.
CUT = re.compile(
    r"[:：꞉∶|¦›>→⇒⟶—–―~•·=«»“”„\"()\[\]{}<;；】【\\]+|\s[-/@]{1,2}\s|--"
    r"|(?<!\w)[@_*#`]+|[_*#`]+(?!\w)|\n|(?<=\D[.!?…])\s|(?<=[。！？])"
)
#: A part of a text that is as long as this is no name; CJK names have at most four characters.
MAX_NAME_WORDS, MAX_CJK_NAME = 4, 4
#: An office in small letters: “finance director”.
MAX_OFFICE_WORDS = 2
#: Words within names that are not capitalised.
PARTICLES = frozenset("al and bin da de del den der di dos du e el et ibn la le of ten und van von y".split())
COLONS = re.compile(r"[:：꞉∶]")
#: Words before a colon that may say from whom the rest comes.
MAX_HEADING_WORDS = 8
#: Words that may stand beside a name: articles and those of dates.
UNNAMED = ARTICLES | frozenset(map(fold, collect(lambda pack: pack.dates.signs)))
WORD = re.compile(r"\w+(?:['’.-]\w+)*")


@remembered_by_digest
def has_edge_name(text: str, names: Collection[str] = (), *, author: str = "") -> bool:
    """Whether a name other than the author's stands at an edge, or alone. ``names``: see :func:`quoting.name_words`."""
    parts, own = _parts(text), name_words([author])
    if not parts:
        return False
    edges = (*parts[:2], parts[-1])
    return any(_is_name(part, names, own) for part in edges) or _is_headed(text, names, own)


def is_signed(message: str, *, author: str) -> bool:
    """Whether a line of a message is only a name, or a word before a name: a heading, a header or a signature."""
    lines = [line for line in message.splitlines() if line.strip()]
    if len(lines) < 2:
        return False
    own = name_words([author])
    return any(1 <= len(parts) <= 2 and _is_name(parts[-1], (), own) for parts in map(_parts, lines))


def _parts(text: str) -> list[str]:
    return [part for part in map(str.strip, CUT.split(text)) if WORD.search(part)]


def _is_headed(text: str, names: Collection[str], own: Collection[str]) -> bool:
    """Whether the words before the first colon name a person or an office: "Note of the CFO, 3 May: …"."""
    head, colon, _ = text.partition(match[0]) if (match := COLONS.search(text)) else ("", "", "")
    words = WORD.findall(head)
    if not colon or len(words) > MAX_HEADING_WORDS:
        return False
    folded = [fold(word.removesuffix("'s").removesuffix("’s")) for word in words]
    is_known = any(word in names and word not in own for word in folded)
    return is_known or _is_office(head) or any(_is_name(piece, names, own) for piece in head.split(","))


def _is_name(part: str, names: Collection[str], own: Collection[str]) -> bool:
    """Whether the part is only a name, an office or a role, perhaps with a date."""
    if cjk_length(part):
        return len(part) <= MAX_CJK_NAME and fold(part) not in own
    words = [word for word in WORD.findall(part) if not any(map(str.isdigit, word)) and fold(word) not in UNNAMED]
    if not 0 < len(words) <= MAX_NAME_WORDS or fold(words[0]) in own:
        return False
    if not all(fold(word) in PARTICLES or not word[0].islower() or fold(word) in names for word in words):
        return len(words) <= MAX_OFFICE_WORDS and _is_office(part)
    return any(word in names or word in ROLES or is_capitalised(word) for word in map(fold, words)) or _is_office(part)


def _is_office(part: str) -> bool:
    return any(signs[OFFICIALS].search(fold(part)) for signs in signs_of(fold(part)))

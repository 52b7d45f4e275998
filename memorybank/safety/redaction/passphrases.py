"""Find passphrases: several words after an announcement."""

import re
from collections.abc import Iterator

from memorybank.language.terms import FUNCTION
from memorybank.safety.redaction.connectors import IS, QUOTES, any_of
from memorybank.safety.redaction.spans import Span

FEWEST, MOST = 4, 30
#: A longer one is the seed phrase of a wallet, made of common words.
SEED = 10

_WORDS = rf"[^\W\d_]{{2,16}}(?:[ -][^\W\d_]{{1,16}}){{{FEWEST - 1},{MOST - 1}}}"
_NAMES, _WORDINGS = (any_of(of) for of in (lambda pack: pack.secrets.phrases, lambda pack: pack.secrets.wordings))
_OPENS = any_of(lambda pack: pack.secrets.opens)
_QUOTED = rf"[{QUOTES}](?P<quoted>[^\n{QUOTES}]{{8,160}})[{QUOTES}]"
_PHRASE = re.compile(
    rf"(?:(?:{_NAMES}|{_WORDINGS})[^\n.!?:{QUOTES}]{{0,60}}?{IS}|(?:{_NAMES}),?)\s{{0,2}}(?:{_QUOTED}|(?P<value>{_WORDS}))",
    re.I,
)
_OPENED = re.compile(rf"(?:{_OPENS})(?:(?: [\w'’]{{1,12}}){{0,3}}?:? {_QUOTED}| ?(?P<value>{_WORDS}))", re.I)


def found(text: str) -> Iterator[Span]:
    """Every passphrase: all words between quotation marks, or words with few function words."""
    for phrase in (_PHRASE, _OPENED):
        for match in phrase.finditer(text):
            name = "quoted" if match["quoted"] else "value"
            if _is_phrase(match[name], quoted=name == "quoted"):
                yield Span(*match.span(name), "passphrase")


def _is_phrase(value: str, *, quoted: bool) -> bool:
    words = re.split(r"[ -]", value.casefold())
    function_words = sum(word in FUNCTION for word in words)
    if quoted:
        return len(words) >= FEWEST
    return words[0] not in FUNCTION and 3 * function_words <= (len(words) if len(words) > FEWEST else 0)

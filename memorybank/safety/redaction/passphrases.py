"""Find passphrases: several words after an announcement."""

import re
from collections.abc import Iterator

from memorybank.language.prefilter import Patterns
from memorybank.language.terms import FUNCTION_WORDS
from memorybank.safety.redaction.connectors import LINKS, VALUE_QUOTES, any_whole_words
from memorybank.safety.redaction.spans import SecretSpan

MIN_PASSPHRASE_WORDS, MAX_PASSPHRASE_WORDS = 4, 30

_PHRASE_WORDS = rf"[^\W\d_]{{2,16}}(?:[ -][^\W\d_]{{1,16}}){{{MIN_PASSPHRASE_WORDS - 1},{MAX_PASSPHRASE_WORDS - 1}}}"
_PHRASE_NAMES, _WORDINGS = (
    any_whole_words(of) for of in (lambda pack: pack.secrets.phrases, lambda pack: pack.secrets.wordings)
)
_OPENS = any_whole_words(lambda pack: pack.secrets.opens)
_QUOTED = rf"[{VALUE_QUOTES}](?P<quoted>[^\n{VALUE_QUOTES}]{{8,160}})[{VALUE_QUOTES}]"
_PHRASE = re.compile(
    rf"(?:(?:{_PHRASE_NAMES}|{_WORDINGS})[^\n.!?:{VALUE_QUOTES}]{{0,60}}?{LINKS}|(?:{_PHRASE_NAMES}),?)\s{{0,2}}(?:{_QUOTED}|(?P<value>{_PHRASE_WORDS}))",
    re.I,
)
_OPENED = re.compile(rf"(?:{_OPENS})(?:(?: [\w'’]{{1,12}}){{0,3}}?:? {_QUOTED}| ?(?P<value>{_PHRASE_WORDS}))", re.I)

_PATTERNS = Patterns([(_PHRASE, ""), (_OPENED, "")])


def find(text: str) -> Iterator[SecretSpan]:
    """Every passphrase: all words between quotation marks, or words with few function words."""
    for phrase, _ in _PATTERNS.possible(text):
        for match in phrase.finditer(text):
            name = "quoted" if match["quoted"] else "value"
            if _is_phrase(match[name], quoted=name == "quoted"):
                yield SecretSpan(*match.span(name), "passphrase")


def _is_phrase(value: str, *, quoted: bool) -> bool:
    words = re.split(r"[ -]", value.casefold())
    function_words = sum(word in FUNCTION_WORDS for word in words)
    if quoted:
        return len(words) >= MIN_PASSPHRASE_WORDS
    return words[0] not in FUNCTION_WORDS and 3 * function_words <= (
        len(words) if len(words) > MIN_PASSPHRASE_WORDS else 0
    )

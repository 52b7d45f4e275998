"""Transcribed speech: sounds that say nothing, and words that are begun twice."""

import re
from collections.abc import Callable, Iterable

from memorybank.language import every, packs, spelt, spoken
from memorybank.language.sentences.negation import ASIDE, unless_denied, unless_denied_beside
from memorybank.language.terms import FUNCTION, words

#: What grammar says twice by itself: "that that", "nous nous".
DOUBLED = frozenset(every(lambda pack: pack.talk.doubled))
RESUMED = frozenset(every(lambda pack: pack.talk.resumed))
#: A single one of these is a word begun; a vowel may be a word.
CONSONANT = re.compile("[b-df-hj-np-tv-xz]")
#: Behind a digit it may be inches.
QUOTE = re.compile(r"(?<!\d)\"")

#: What becomes of a word that was found to be said twice.
Repair = Callable[[re.Match[str]], str]


def sounds(among: Iterable[str]) -> re.Pattern[str]:
    """One or more of these sounds, with the commas around them."""
    sound = rf"(?:{spelt(among)})(?![\w'’-])(?:,|(?:\.\.\.|…)(?=\s))?"
    return re.compile(rf"(?:^|,?(?<!\s)\s++)(?:{sound}(?:\s+|$|(?=[.!?;])))+", re.IGNORECASE)


#: With the commas beside them.
INTERJECTED = {each.code: re.compile(rf",\s+(?:{spelt(each.talk.asides)}),(?=\s)", re.IGNORECASE) for each in packs()}
# "um" is a preposition in German and an article in Portuguese: a sound counts in its own language.
SOUNDS = {each.code: sounds(each.talk.hesitations) for each in packs() if each.spaced}
CJK_SOUNDS = re.compile(
    rf"(?:^|(?<=[，、。]))(?:{spelt(every(lambda pack: pack.talk.hesitations, spaced=False))})[，、…]+"
)

WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)*"
AGAIN = re.compile(rf"(?<![\w'’.-])(?P<said>{WORD}(?:\s+{WORD}){{0,2}}),?\s+(?=(?P=said)(?![\w-]))", re.IGNORECASE)
BEGUN = re.compile(
    r"(?:^|(?<![^\W\d_])(?P<before>[^\W\d_]++)\s++|(?<=[,.;:!?…]\s))(?P<begun>[^\W\d_]{1,3})-?,?\s+"
    r"(?=(?P<word>(?P=begun)[^\W\d_]+)(?![\w-]))",
    re.IGNORECASE,
)


def fluent(text: str) -> str:
    """The text without such sounds and without what is said again at once; as it is where something is denied."""
    code = spoken(words(text))
    text = INTERJECTED[code].sub(unless_denied_beside, text) if code else text
    said, text = text, CJK_SOUNDS.sub(_unless_denied, text)
    if code:
        text = SOUNDS[code].sub(_unless_denied, text)
    text = _once_each(text, _once, _whole)
    if text != said:  # who halts once, halts: what grammar may say twice, and a word begun, are a stammer as well
        text = _once_each(text, _once_more, _whole_of_any)
    return text.strip()


def _once_each(text: str, once: Repair, whole: Repair) -> str:
    """Without what is said again, until nothing is: "I I I", "the th the"."""
    for _ in range(3):
        text, before = AGAIN.sub(once, BEGUN.sub(whole, text)), text
        if text == before:
            break
    return text


def halts(text: str) -> bool:
    """Whether it still stammers, breaks off, or is cut out of a quotation."""
    said = words(text)
    sounding = (code := spoken(said)) and SOUNDS[code].search(text)
    torn = text.endswith("…") or text.startswith("…") or (bool(said) and said[-1] in FUNCTION)
    quoting = text.count('"') % 2 == 1 == len(QUOTE.findall(text)) % 2
    return bool(sounding) or torn or quoting or any(_stammered(match["said"]) for match in AGAIN.finditer(text))


def _unless_denied(match: re.Match[str]) -> str:
    return unless_denied(match, ASIDE, " " if match.start() else "")


def _once(match: re.Match[str]) -> str:
    return unless_denied_beside(match) if _stammered(match["said"]) else match[0]


def _stammered(said: str) -> bool:
    """Whether nobody would say these words twice on purpose: function words that grammar does not double."""
    return all(word in FUNCTION and word not in DOUBLED for word in said.casefold().split())


def _once_more(match: re.Match[str]) -> str:
    """As ``_once``, and without a word that is hardly ever said twice on purpose. "It is, is it?" has a comma."""
    said = match["said"].casefold()
    return unless_denied_beside(match) if said in RESUMED and "," not in match[0] else _once(match)


def _whole_of_any(match: re.Match[str]) -> str:
    """Without the beginning of any word: a consonant behind a function word, or where the sentence begins."""
    before = (match["before"] or "").casefold()
    if not CONSONANT.fullmatch(match["begun"]) or (before and before not in FUNCTION):
        return _whole(match)
    return unless_denied(match, ASIDE, match[0][: match.start("begun") - match.start()])


def _whole(match: re.Match[str]) -> str:
    """Without the beginning of a function word, where no noun stands before that a letter may name."""
    begun, word, before = (match[name].casefold() if match[name] else "" for name in ("begun", "word", "before"))
    is_word = not CONSONANT.fullmatch(begun) if len(begun) == 1 else begun in FUNCTION
    is_name = before not in FUNCTION if len(begun) == 1 else not match["begun"].islower()
    if is_word or word not in FUNCTION or (before and is_name):
        return match[0]
    return unless_denied(match, ASIDE, match[0][: match.start("begun") - match.start()])

"""Remove disfluency from transcribed speech: hesitation sounds, asides, stammers and false starts."""

import re
from collections.abc import Callable, Iterable

from memorybank.language import every, packs, spelt, spoken
from memorybank.language.sentences.negation import ASIDE, unless_denied, unless_denied_beside
from memorybank.language.terms import FUNCTION, words

#: Words that grammar doubles: "that that", "nous nous".
DOUBLED = frozenset(every(lambda pack: pack.talk.doubled))
RESUMED = frozenset(every(lambda pack: pack.talk.resumed))
#: A single consonant is the beginning of a word; a single vowel may be a word.
CONSONANT = re.compile("[b-df-hj-np-tv-xz]")
#: After a digit it may mean inches.
QUOTE = re.compile(r"(?<!\d)\"")

#: Rewrites a match of a repeated word.
Repair = Callable[[re.Match[str]], str]


def sounds(among: Iterable[str]) -> re.Pattern[str]:
    """A pattern for one or more of these sounds, with the commas around them."""
    sound = rf"(?:{spelt(among)})(?![\w'’-])(?:,|(?:\.\.\.|…)(?=\s))?"
    return re.compile(rf"(?:^|,?(?<!\s)\s++)(?:{sound}(?:\s+|$|(?=[.!?;])))+", re.IGNORECASE)


#: Asides with the commas around them.
INTERJECTED = {each.code: re.compile(rf",\s+(?:{spelt(each.talk.asides)}),(?=\s)", re.IGNORECASE) for each in packs()}
# "um" is a preposition in German and an article in Portuguese: a sound counts only in its own language.
SOUNDS = {each.code: sounds(each.talk.hesitations) for each in packs() if each.spaced}
CJK_SOUNDS = re.compile(
    rf"(?:^|(?<=[，、。]))(?:{spelt(every(lambda pack: pack.talk.hesitations, spaced=False))})[，、…]+"
)

WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)*"
AGAIN = re.compile(
    rf"(?<![\w'’.-])(?P<repeated>{WORD}(?:\s+{WORD}){{0,2}}),?\s+(?=(?P=repeated)(?![\w-]))", re.IGNORECASE
)
BEGUN = re.compile(
    r"(?:^|(?<![^\W\d_])(?P<before>[^\W\d_]++)\s++|(?<=[,.;:!?…]\s))(?P<begun>[^\W\d_]{1,3})-?,?\s+"
    r"(?=(?P<word>(?P=begun)[^\W\d_]+)(?![\w-]))",
    re.IGNORECASE,
)


def fluent(text: str) -> str:
    """The text without hesitations, asides and immediate repetitions; clauses with a negation stay as they are."""
    code = spoken(words(text))
    text = INTERJECTED[code].sub(unless_denied_beside, text) if code else text
    original, text = text, CJK_SOUNDS.sub(_unless_denied, text)
    if code:
        text = SOUNDS[code].sub(_unless_denied, text)
    text = _once_each(text, _once, _whole)
    if text != original:  # a speaker who hesitates once also stammers on words that grammar may double, and on letters
        text = _once_each(text, _once_more, _whole_of_any)
    return text.strip()


def _once_each(text: str, once: Repair, whole: Repair) -> str:
    """The text without repetitions of words, to three levels: "I I I", "the th the"."""
    for _ in range(3):
        text, before = AGAIN.sub(once, BEGUN.sub(whole, text)), text
        if text == before:
            break
    return text


def halts(text: str) -> bool:
    """Whether the text still stammers, breaks off, or is cut out of a quotation."""
    text_words = words(text)
    has_sound = (code := spoken(text_words)) and SOUNDS[code].search(text)
    is_torn = text.endswith("…") or text.startswith("…") or (bool(text_words) and text_words[-1] in FUNCTION)
    is_quoting = text.count('"') % 2 == 1 == len(QUOTE.findall(text)) % 2
    return (
        bool(has_sound) or is_torn or is_quoting or any(_stammered(match["repeated"]) for match in AGAIN.finditer(text))
    )


def _unless_denied(match: re.Match[str]) -> str:
    return unless_denied(match, ASIDE, " " if match.start() else "")


def _once(match: re.Match[str]) -> str:
    return unless_denied_beside(match) if _stammered(match["repeated"]) else match[0]


def _stammered(repeated: str) -> bool:
    """Whether nobody repeats these words on purpose: function words that grammar does not double."""
    return all(word in FUNCTION and word not in DOUBLED for word in repeated.casefold().split())


def _once_more(match: re.Match[str]) -> str:
    """Like ``_once``, but also for words that are hardly ever doubled on purpose. "It is, is it?" has a comma."""
    repeated = match["repeated"].casefold()
    return unless_denied_beside(match) if repeated in RESUMED and "," not in match[0] else _once(match)


def _whole_of_any(match: re.Match[str]) -> str:
    """Remove a false start of any word: a consonant after a function word or at the start of the sentence."""
    before = (match["before"] or "").casefold()
    if not CONSONANT.fullmatch(match["begun"]) or (before and before not in FUNCTION):
        return _whole(match)
    return unless_denied(match, ASIDE, match[0][: match.start("begun") - match.start()])


def _whole(match: re.Match[str]) -> str:
    """Remove a false start of a function word, unless a noun stands before it that a letter may name."""
    begun, word, before = (match[name].casefold() if match[name] else "" for name in ("begun", "word", "before"))
    is_word = not CONSONANT.fullmatch(begun) if len(begun) == 1 else begun in FUNCTION
    is_name = before not in FUNCTION if len(begun) == 1 else not match["begun"].islower()
    if is_word or word not in FUNCTION or (before and is_name):
        return match[0]
    return unless_denied(match, ASIDE, match[0][: match.start("begun") - match.start()])

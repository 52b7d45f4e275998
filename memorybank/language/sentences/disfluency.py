"""Remove disfluency from transcribed speech: hesitation sounds, asides, stammers and false starts."""

import re
from collections.abc import Callable, Iterable

from memorybank.language import collect, detect_language, literals, packs
from memorybank.language.sentences.negation import CLAUSE_MARKS, remove_unless_denied, replace_unless_denied
from memorybank.language.terms import FUNCTION_WORDS, words

#: Words that grammar doubles: "that that", "nous nous".
DOUBLED_WORDS = frozenset(collect(lambda pack: pack.talk.doubled))
RESUMED_WORDS = frozenset(collect(lambda pack: pack.talk.resumed))
#: A single consonant is the beginning of a word; a single vowel may be a word.
CONSONANT = re.compile("[b-df-hj-np-tv-xz]")
#: After a digit it may mean inches.
QUOTATION_MARK = re.compile(r"(?<!\d)\"")

#: Rewrites a match of a repeated word.
Repair = Callable[[re.Match[str]], str]


def sounds(among: Iterable[str]) -> re.Pattern[str]:
    """A pattern for one or more of these sounds, with the commas around them."""
    sound = rf"(?:{literals(among)})(?![\w'’-])(?:,|(?:\.\.\.|…)(?=\s))?"
    return re.compile(rf"(?:^|,?(?<!\s)\s++)(?:{sound}(?:\s+|$|(?=[.!?;])))+", re.IGNORECASE)


#: Asides with the commas around them.
INTERJECTED = {
    pack.code: re.compile(rf",\s+(?:{literals(pack.talk.asides)}),(?=\s)", re.IGNORECASE) for pack in packs()
}
# "um" is a preposition in German and an article in Portuguese: a sound counts only in its own language.
SOUNDS = {pack.code: sounds(pack.talk.hesitations) for pack in packs() if pack.spaced}
CJK_SOUNDS = re.compile(
    rf"(?:^|(?<=[，、。]))(?:{literals(collect(lambda pack: pack.talk.hesitations, spaced=False))})[，、…]+"
)

SPOKEN_WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)*"
REPETITION = re.compile(
    rf"(?<![\w'’.-])(?P<repeated>{SPOKEN_WORD}(?:\s+{SPOKEN_WORD}){{0,2}}),?\s+(?=(?P=repeated)(?![\w-]))",
    re.IGNORECASE,
)
FALSE_START = re.compile(
    r"(?:^|(?<![^\W\d_])(?P<before>[^\W\d_]++)\s++|(?<=[,.;:!?…]\s))(?P<begun>[^\W\d_]{1,3})-?,?\s+"
    r"(?=(?P<word>(?P=begun)[^\W\d_]+)(?![\w-]))",
    re.IGNORECASE,
)


def remove_disfluency(text: str) -> str:
    """The text without hesitations, asides and immediate repetitions; clauses with a negation stay as they are."""
    code = detect_language(words(text))
    text = INTERJECTED[code].sub(remove_unless_denied, text) if code else text
    original, text = text, CJK_SOUNDS.sub(_unless_denied, text)
    if code:
        text = SOUNDS[code].sub(_unless_denied, text)
    text = _without_repairs(text, _repetition_removed, _false_start_removed)
    if text != original:  # a speaker who hesitates once also stammers on words that grammar may double, and on letters
        text = _without_repairs(text, _any_repetition_removed, _any_false_start_removed)
    return text.strip()


def _without_repairs(text: str, once: Repair, whole: Repair) -> str:
    """The text without repetitions of words, to three levels: "I I I", "the th the"."""
    for _ in range(3):
        text, before = REPETITION.sub(once, FALSE_START.sub(whole, text)), text
        if text == before:
            break
    return text


def is_halting(text: str) -> bool:
    """Whether the text still stammers, breaks off, or is cut out of a quotation."""
    text_words = words(text)
    has_sound = (code := detect_language(text_words)) and SOUNDS[code].search(text)
    is_torn = text.endswith("…") or text.startswith("…") or (bool(text_words) and text_words[-1] in FUNCTION_WORDS)
    is_quoting = text.count('"') % 2 == 1 == len(QUOTATION_MARK.findall(text)) % 2
    return (
        bool(has_sound)
        or is_torn
        or is_quoting
        or any(_stammered(match["repeated"]) for match in REPETITION.finditer(text))
    )


def _unless_denied(match: re.Match[str]) -> str:
    return replace_unless_denied(match, CLAUSE_MARKS, " " if match.start() else "")


def _repetition_removed(match: re.Match[str]) -> str:
    return remove_unless_denied(match) if _stammered(match["repeated"]) else match[0]


def _stammered(repeated: str) -> bool:
    """Whether nobody repeats these words on purpose: function words that grammar does not double."""
    return all(word in FUNCTION_WORDS and word not in DOUBLED_WORDS for word in repeated.casefold().split())


def _any_repetition_removed(match: re.Match[str]) -> str:
    """Like ``_repetition_removed``, but also for words that are hardly ever doubled. "It is, is it?" has a comma."""
    repeated = match["repeated"].casefold()
    return (
        remove_unless_denied(match) if repeated in RESUMED_WORDS and "," not in match[0] else _repetition_removed(match)
    )


def _any_false_start_removed(match: re.Match[str]) -> str:
    """Remove a false start of any word: a consonant after a function word or at the start of the sentence."""
    before = (match["before"] or "").casefold()
    if not CONSONANT.fullmatch(match["begun"]) or (before and before not in FUNCTION_WORDS):
        return _false_start_removed(match)
    return replace_unless_denied(match, CLAUSE_MARKS, match[0][: match.start("begun") - match.start()])


def _false_start_removed(match: re.Match[str]) -> str:
    """Remove a false start of a function word, unless a noun stands before it that a letter may name."""
    begun, word, before = (match[name].casefold() if match[name] else "" for name in ("begun", "word", "before"))
    is_word = not CONSONANT.fullmatch(begun) if len(begun) == 1 else begun in FUNCTION_WORDS
    is_name = before not in FUNCTION_WORDS if len(begun) == 1 else not match["begun"].islower()
    if is_word or word not in FUNCTION_WORDS or (before and is_name):
        return match[0]
    return replace_unless_denied(match, CLAUSE_MARKS, match[0][: match.start("begun") - match.start()])

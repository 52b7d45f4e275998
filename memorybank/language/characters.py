"""Character classes: hidden characters, Chinese and Japanese scripts, and text without hidden characters.

A hidden character shows nothing in any font: it could reorder the text of a fact or smuggle in words that nobody sees.
A character that shows at least a box (private use, or newer than our tables, such as next year's emoji) is not hidden
and is kept. The list is Unicode's Default_Ignorable_Code_Point, which never shrinks, and code points that are not text.
It is written out here because every Python version ships another unicodedata.
"""

import re
import unicodedata

# Scripts without spaces between words: ideographs, kana and bopomofo without their punctuation. Korean has spaces.
CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
EMOJI = "\u2600-\u27bf\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001faff"

# Soft hyphen, zero-width space, bidirectional marks, fillers, variation selectors, tags and reserved code points.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Control characters except white space, annotations, hieroglyph controls, the null notehead, surrogates.
_NO_TEXT = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufff9-\ufffb\U00013430-\U0001343f\U0001d159\ud800-\udfff"

# Zero-width joiner and non-joiner change the shape of letters in Arabic, Persian and the Indic scripts, where words
# without them are misspelt, and they join emoji into one picture. They are allowed there and removed elsewhere.
_SHAPED = "\u0600-\u0dff\u1000-\u109f\u1780-\u18af"
_JOINERS = "\u200c\u200d"
_JOINER = re.compile(f"[{_JOINERS}]")
_LONE_JOINER = re.compile(f"[{_JOINERS}](?<![{_SHAPED}][{_JOINERS}])(?!(?<=[{EMOJI}]\u200d)[{EMOJI}])")

_HIDDEN = re.compile(f"[{_IGNORABLE}{_NO_TEXT}]")
_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_BLANK = re.compile("[\t\u2800]")  # U+2800 is the Braille space, although Unicode classes it as a symbol
_IS_CJK = re.compile(f"[{CJK}]")


def plain(text: str) -> str:
    """``text`` without hidden characters, with one kind of line break and in NFC. Idempotent."""
    if text.isascii() and text.isprintable():
        return text
    text = _HIDDEN.sub("", _BLANK.sub(" ", _BREAK.sub("\n", text)))
    return unicodedata.normalize("NFC", _LONE_JOINER.sub("", text))


def strip_joiners(text: str) -> str:
    """``text`` without joiners, for comparisons: many people leave them out."""
    return _JOINER.sub("", text)


def is_cjk(text: str) -> bool:
    """Whether ``text`` begins with a character of a script without spaces."""
    return _IS_CJK.match(text) is not None


def cjk_length(text: str) -> int:
    """The number of characters of scripts without spaces."""
    return 0 if text.isascii() else len(_IS_CJK.findall(text))

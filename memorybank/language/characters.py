"""Which characters nobody sees, which are Chinese or Japanese, and text as people read it.

Hidden is what shows nothing whatever the font: it could reorder what a fact says, or smuggle what nobody sees. What
shows at least a box (private use, or newer than our tables, as next year's emoji) is no secret, and nothing said may be
lost. The list is Unicode's Default_Ignorable_Code_Point, which never shrinks, and what is no text at all; it is written
out, because unicodedata knows other characters in every version of Python.
"""

import re
import unicodedata

# Written without spaces between words: kana and bopomofo without their punctuation, and ideographs. Korean has spaces.
CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
EMOJI = "\u2600-\u27bf\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001faff"

# Soft hyphen, zero-width space, bidirectional marks, fillers, variation selectors, tags, and what is kept for more.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Controls but white space, annotations, controls of hieroglyphs, an empty note; halves of characters (surrogates).
_NO_TEXT = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufff9-\ufffb\U00013430-\U0001343f\U0001d159\ud800-\udfff"

# Zero-width joiner and non-joiner are letters' shapes in Arabic, Persian and the scripts of India and beside it, where
# words without them are misspelt; and a family of emoji is one picture. There one of them may stand; elsewhere none.
_SHAPED = "\u0600-\u0dff\u1000-\u109f\u1780-\u18af"
_JOINERS = "\u200c\u200d"
_JOINER = re.compile(f"[{_JOINERS}]")
_LONE_JOINER = re.compile(f"[{_JOINERS}](?<![{_SHAPED}][{_JOINERS}])(?!(?<=[{EMOJI}]\u200d)[{EMOJI}])")

_HIDDEN = re.compile(f"[{_IGNORABLE}{_NO_TEXT}]")
_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_BLANK = re.compile("[\t\u2800]")  # U+2800 is the space of Braille, though Unicode calls it a symbol
_IS_CJK = re.compile(f"[{CJK}]")


def plain(text: str) -> str:
    """``text`` with nothing hidden in it, one kind of line break, and one form of each letter (NFC); idempotent."""
    if text.isascii() and text.isprintable():
        return text
    text = _HIDDEN.sub("", _BLANK.sub(" ", _BREAK.sub("\n", text)))
    return unicodedata.normalize("NFC", _LONE_JOINER.sub("", text))


def unjoined(text: str) -> str:
    """``text`` without joiners, for comparing: many people leave them out."""
    return _JOINER.sub("", text)


def is_cjk(text: str) -> bool:
    """Whether ``text`` begins in a script that is written without spaces."""
    return _IS_CJK.match(text) is not None


def cjk_length(text: str) -> int:
    """How many of its characters are of such a script."""
    return len(_IS_CJK.findall(text))

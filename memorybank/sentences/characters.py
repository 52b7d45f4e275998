"""Text without what a reader cannot see."""

import re

# Control, zero-width, bidirectional and tag characters, variation selectors, blank letters, lone surrogates.
UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")


def plain(text: str) -> str:
    """``text`` with nothing hidden in it, and one kind of line break.

    Hidden characters can reorder what a fact says or smuggle what nobody sees. The marks of a model's
    special tokens are broken, so that they stay text whatever reads them.
    """
    text = UNSEEN.sub("", BREAKS.sub("\n", text)).replace("\t", " ")
    return text.replace("<|", "< |").replace("|>", "| >")

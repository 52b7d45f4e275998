"""Recognise messages with pasted text, which their author did not type: a mail, a ticket, a log of a chat.

Only the layout counts, not the content. Such a message is one quotation, with its heading, body and signature.
"""

import re
from itertools import pairwise

from memorybank.language import alternation, collect
from memorybank.safety.quoting import name_words

#: The header field that names a mail's sender, and the separator line above a forwarded message.
SENDER_FIELD = alternation(collect(lambda pack: pack.instructions.senders))
MAIL_HEAD = re.compile(rf"^\W{{0,6}}(?:{SENDER_FIELD})\s?[:：]\s?\S|^\W?-{{3,}}[^-]+-{{3,}}\W?$", re.I)
QUOTED_LINE = re.compile(r"^\s{0,3}>")
TABLE_LINE = re.compile(r"^\s{0,3}\|.*\|")
#: A line of a log: a time, then a name or a level.
STAMPED_LINE = re.compile(r"^\W{0,2}(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? )?\d{1,2}:\d\d(?::\d\d)?\W{1,4}\w")
#: The end of a line that introduces the pasted text.
ANNOUNCEMENT = re.compile(r"[:：?？]\s*$")
#: One to three words, each with a capital.
NAME_LINE = re.compile(r"[–—~ -]{0,4}(?:[^\W\d_a-z][\w'’.-]{0,30} ?){1,3}\W{0,2}")
#: A signature as the last line: a dash and a few words.
SIGNATURE = re.compile(r"\s{0,3}(?:[~–—]|--) ?[^\W\d_a-z][^\d]{1,60}")
MIN_LINES, MAX_CLOSING_WORDS = 3, 3
#: Fenced code counts as the author's own text.
FENCED_CODE = re.compile(r"^\s{0,3}(```|~~~).*?^\s{0,3}\1\s*$", re.M | re.S)
#: Lines that people type themselves end like a sentence, or begin like a list item or heading.
TYPED_ENDING = re.compile(r"[.!?…:：,，;。！？)\]}>”\"'»*_`]\W*$")
LIST_ITEM = re.compile(r"\s*(?:[-*•–#]|\d{1,2}[.)]|\w\))\s")
MAX_SIGNATURE_WORDS = 6


def is_pasted(message: str, author: str) -> bool:
    """Whether a message of ``author`` contains pasted text."""
    lines = [line for line in message.splitlines() if line.strip()]
    if any(MAIL_HEAD.match(line) or QUOTED_LINE.match(line) or TABLE_LINE.match(line) for line in lines[:-1] or lines):
        return len(lines) > 1
    if sum(map(bool, map(STAMPED_LINE.match, lines))) > 1 or (lines and SIGNATURE.fullmatch(lines[-1])):
        return True
    if _asks_about_what_follows(message) or _is_no_prose(FENCED_CODE.sub("", message), author):
        return True
    if len(lines) < MIN_LINES:
        return False
    return bool(ANNOUNCEMENT.search(lines[0])) or _is_signed_by_another(lines, author)


def _asks_about_what_follows(message: str) -> bool:
    """Whether the first line is a question and a blank line follows it."""
    first, *others = message.strip().splitlines()[:2] or [""]
    return first.rstrip().endswith(("?", "？")) and bool(others) and not others[0].strip()


def _is_no_prose(message: str, author: str) -> bool:
    """Whether several lines do not end like a sentence, or only the last one, after a blank line, like a signature."""
    lines = message.strip().splitlines()
    written = [line for line in lines if line.strip()]
    unended = [line for line in written if not (TYPED_ENDING.search(line) or LIST_ITEM.match(line))]
    if len(written) < 2 or not unended:
        return False
    signed = (
        written[-1] is unended[-1]
        and not lines[-2].strip()
        and len(written[-1].split()) <= MAX_SIGNATURE_WORDS
        and name_words([author]).isdisjoint(name_words([written[-1]]))
    )
    return len(unended) > 1 or signed


def _is_signed_by_another(lines: list[str], author: str) -> bool:
    """Whether a name other than the author's follows a closing formula that ends with a comma."""
    own = name_words([author])
    return any(
        closing.rstrip().endswith((",", "，", "、"))
        and len(closing.split()) <= MAX_CLOSING_WORDS
        and NAME_LINE.fullmatch(signed)
        and own.isdisjoint(name_words([signed]))
        for closing, signed in pairwise(lines[1:])
    )

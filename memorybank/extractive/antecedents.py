"""A sentence that leans on the one before it ("It was cancelled.") is told together with it, or not at all."""

import re
from collections.abc import Iterator, Sequence

from memorybank.extractive.kinds import is_question
from memorybank.sentences import joined, length, tells

# Joining costs nothing when a word here is misread, so the list may be generous.
LEANING = re.compile(
    r"(?:(?:it|this|that|these|those|they|he|she|them|his|her|their|its|it['’]\w+|that['’]\w+|they['’]\w+|(?:s?he)['’]\w+"
    r"|es|das|dies|diese[rs]?|er|sie|deshalb|deswegen|darum|dafür|damit|dadurch"
    r"|il|elle|ils|elles|ça|cela|ceci|celui-ci|celle-ci|c['’](?:est|était)"
    r"|eso|esto|ello|él|ella|ellos|ellas|isso|isto|ele|ela|eles|elas)\b"
    r"|[它他她]|这(?!个)|那(?!个)|それ|これ|あれ|彼)",
    re.IGNORECASE,
)
MOST_WORDS = 20


def leaning_joined(texts: Sequence[str]) -> Iterator[str]:
    """The sentences of one message; one that leans is joined to its predecessor while that stays short."""
    before = ""
    for text in texts:
        if before and LEANING.match(text) and not is_question(text) and not is_question(before):
            if not tells(text):
                continue
            if length(before) + length(text) <= MOST_WORDS:
                before = joined(before, text)
                continue
        if before:
            yield before
        before = text
    if before:
        yield before

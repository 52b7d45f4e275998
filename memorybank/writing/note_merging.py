"""The lines of many chunks → one list: what is said twice is united; a model is asked only where they are too many."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import replace
from functools import partial

from memorybank import conf
from memorybank.core import transcript
from memorybank.core.transcript import SourceItem
from memorybank.core.validation import ParsedLine
from memorybank.exceptions import LLMError
from memorybank.language.terms import ARTICLES
from memorybank.model_calls.session import ModelSession, PromptSpec, Purpose
from memorybank.models import Bank

logger = logging.getLogger(__name__)

_MARKS = ".,;:!…\"'“”„‘’«»()[]*`。、，；：！「」『』"  # no question mark, no sign of a number or a name (C++, -5, ≥)


def merged(session: ModelSession, bank: Bank, lines: Sequence[ParsedLine]) -> list[ParsedLine]:
    """Each thing once, and no more lines than a leaf holds, unless the model fails to retell them."""
    held = [line for line in lines if line.quarantine]  # for people to judge, not for a model
    fit = united([line for line in lines if not line.quarantine])
    return held + (fit if len(fit) <= conf.current().lines_per_leaf else _retold(session, bank, fit))


def united(lines: Sequence[ParsedLine]) -> list[ParsedLine]:
    """Each thing once, citing every turn that said it. Pure.

    What differs in case, articles and punctuation alone is the same, wherever it was said. A line whose words
    stand in a later one, with the same numbers and about a neighbouring turn, gives way to it; never to an
    earlier one, which the line may be correcting ("not sure we ship", then "we ship").
    """
    kept: dict[str, ParsedLine] = {}
    for line in lines:
        words = _words(line)
        if words in kept:
            kept[words] = _citing(kept[words], line)
            continue
        for part in [said for said in kept if said in words and _tells_more(line, words, kept[said], said)]:
            line = _citing(line, kept.pop(part))
        kept[words] = line
    return list(kept.values())


def _words(line: ParsedLine) -> str:
    """The words of a line between spaces; a question is another thing than what it asks about."""
    bare = (word.strip(_MARKS) for word in line.text.casefold().split())
    return f" {' '.join(word for word in bare if word and word not in ARTICLES)} {'?' * (line.kind == 'question')}"


def _tells_more(line: ParsedLine, words: str, part: ParsedLine, said: str) -> bool:
    return _numbers(words) == _numbers(said) and any(
        abs(int(one) - int(other)) <= 1 for one in line.labels for other in part.labels
    )


def _numbers(words: str) -> list[str]:
    return sorted(word for word in words.split() if any(map(str.isdigit, word)))


def _citing(line: ParsedLine, other: ParsedLine) -> ParsedLine:
    """The line, said in the turns of both; a decision stays one."""
    kind = other.kind if line.kind == "fact" else line.kind
    return replace(line, kind=kind, labels=tuple(dict.fromkeys((*line.labels, *other.labels))))


def _retold(session: ModelSession, bank: Bank, lines: Sequence[ParsedLine]) -> list[ParsedLine]:
    """As many lines as a leaf holds, in groups of neighbours that are retold at the same time."""
    now = conf.current()
    items = transcript.numbered((line.text for line in lines), encoding=now.encoding)
    groups = transcript.even_chunks(
        items, now.chunk_tokens, width=now.concurrency, limit=now.input_tokens, encoding=now.encoding
    )
    with ThreadPoolExecutor(max_workers=now.concurrency, thread_name_prefix="group") as pool:
        return [line for group in pool.map(partial(_group, session, bank, lines), groups) for line in group]


def _group(
    session: ModelSession, bank: Bank, lines: Sequence[ParsedLine], shown: Sequence[SourceItem]
) -> list[ParsedLine]:
    """The model's lines for a group's; these as they are where it fails or takes too long."""
    now = conf.current()
    originals = {item.label: lines[int(item.label) - 1] for item in shown}
    share = max(1, now.lines_per_leaf * len(originals) // len(lines))
    prompt = PromptSpec("merge", share, max(1, now.words_per_call * share // now.lines_per_call), {"focus": bank.focus})
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="merge")
    try:
        retold = pool.submit(session.ask, Purpose.MERGE, prompt, shown).result(timeout=now.merge_seconds)
    except (LLMError, TookTooLong) as error:
        logger.warning("merge failed, the parts stand as they are: %s", type(error).__name__)
        return list(originals.values())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return [_with_citations_of(line, originals) for line in retold]


def _with_citations_of(line: ParsedLine, originals: dict[str, ParsedLine]) -> ParsedLine:
    """The merged line, citing the turns that the notes it was made from cite."""
    labels = dict.fromkeys(label for note in line.labels for label in originals[note].labels)
    return replace(line, labels=tuple(labels))

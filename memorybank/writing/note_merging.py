"""Merge the lines of many chunks into one list: duplicates are united; a model is asked only if too many remain."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import replace
from functools import partial

from memorybank import bank_scope, conf
from memorybank.core import transcript
from memorybank.core.transcript import SourceItem
from memorybank.core.validation import ParsedLine
from memorybank.exceptions import LLMError
from memorybank.language.repetition import may_repeat
from memorybank.language.terms import compared_words
from memorybank.model_calls.session import ModelSession, PromptSpec, Purpose, parallel_parts
from memorybank.models import Bank

logger = logging.getLogger(__name__)

#: Approximate words of a line, for the limits that the prompt states.
WORDS_PER_LINE = 20


def merge_lines(session: ModelSession, bank: Bank, lines: Sequence[ParsedLine]) -> list[ParsedLine]:
    """Unite duplicates; if more than ``lines_per_leaf`` remain, a model merges them unless it fails."""
    quarantined = [line for line in lines if line.quarantine]  # for people to judge, not for a model
    united = unite_duplicates([line for line in lines if not line.quarantine])
    return quarantined + (
        united if len(united) <= conf.current().lines_per_leaf else _merge_with_model(session, bank, united)
    )


def unite_duplicates(lines: Sequence[ParsedLine]) -> list[ParsedLine]:
    """Unite lines that say the same, citing every turn that said it. Pure.

    Lines with the same :func:`compared_words` are the same, whatever turns they cite. A later line
    replaces an earlier one if it goes on after the same words, has the same numbers, and cites the same or a
    neighbouring turn. What comes before these words may deny them ("Tom denies we ship"). An earlier line never
    replaces a later one, which may correct it ("not sure we ship", then "we ship").
    """
    kept: dict[str, ParsedLine] = {}
    for line in lines:
        words = _normalized_words(line)
        if words in kept:
            kept[words] = _with_citations_of_both(kept[words], line)
            continue
        for part in [other for other in kept if words.startswith(other) and _includes(line, words, kept[other], other)]:
            line = _with_citations_of_both(line, kept.pop(part))
        kept[words] = line
    return list(kept.values())


def _normalized_words(line: ParsedLine) -> str:
    """The words of a line between spaces; a question differs from the statement it asks about."""
    return f" {' '.join(compared_words(line.text))} {'?' * (line.kind == 'question')}"


def _includes(line: ParsedLine, words: str, part: ParsedLine, part_words: str) -> bool:
    return (
        _numbers(words) == _numbers(part_words)
        and any(abs(int(one) - int(other)) <= 1 for one in line.labels for other in part.labels)
        and may_repeat(part.text, line.text)
    )


def _numbers(words: str) -> list[str]:
    return sorted(word for word in words.split() if any(map(str.isdigit, word)))


def _with_citations_of_both(line: ParsedLine, other: ParsedLine) -> ParsedLine:
    """The line with the citations of both; a decision stays a decision."""
    kind = other.kind if line.kind == "fact" else line.kind
    return replace(line, kind=kind, labels=tuple(dict.fromkeys((*line.labels, *other.labels))))


def _merge_with_model(session: ModelSession, bank: Bank, lines: Sequence[ParsedLine]) -> list[ParsedLine]:
    """At most as many lines as a leaf holds: groups of neighbouring lines are merged in parallel."""
    settings = conf.current()
    items = transcript.numbered((line.text for line in lines), encoding=settings.encoding)
    groups = parallel_parts(items, settings.input_tokens)
    with ThreadPoolExecutor(max_workers=settings.concurrency, thread_name_prefix="group") as pool:
        return [
            line
            for group in pool.map(bank_scope.carried(partial(_merge_group, session, bank, lines)), groups)
            for line in group
        ]


def _merge_group(
    session: ModelSession, bank: Bank, lines: Sequence[ParsedLine], shown: Sequence[SourceItem]
) -> list[ParsedLine]:
    """The model's lines for one group; the originals if it fails or takes too long."""
    settings = conf.current()
    originals = {item.label: lines[int(item.label) - 1] for item in shown}
    share = max(1, settings.lines_per_leaf * len(originals) // len(lines))
    prompt = PromptSpec("merge", share * WORDS_PER_LINE, share, {"focus": bank.focus})
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="merge")
    try:
        merged = pool.submit(bank_scope.carried(session.ask), Purpose.MERGE, prompt, shown).result(
            timeout=settings.merge_seconds
        )
    except (LLMError, TookTooLong) as error:
        logger.warning("merge failed, the parts stand as they are: %s", type(error).__name__)
        return list(originals.values())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return [_with_original_citations(line, originals) for line in merged]


def _with_original_citations(line: ParsedLine, originals: dict[str, ParsedLine]) -> ParsedLine:
    """The merged line with the citations of the lines it was made from."""
    labels = dict.fromkeys(label for note in line.labels for label in originals[note].labels)
    return replace(line, labels=tuple(labels))

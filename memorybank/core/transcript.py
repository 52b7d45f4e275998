"""Convert outputs into turns, and turns into the numbered, fenced transcript that a summariser reads. Pure.

Every output is one numbered item; people's text is indented, so that a line that looks like a number, a role or a fence
stays inside its item.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import ceil
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from memorybank.core.turns import ASSISTANT_SPEAKER, NOTED_FROM, Turn, Utterance
from memorybank.language import dates, plain, tokens
from memorybank.safety.escaping import escape
from memorybank.safety.naming import display_name
from memorybank.safety.quoting import name_words, quote_speech
from memorybank.safety.redaction import Masker

LINE_INDENT, IMAGE_PLACEHOLDER, MAX_TOOL_NAME_CHARACTERS = "\n    ", "[image]", 60
CALL_SPEAKER = "call"
#: A line that summarises more speakers than this names none of them.
MAX_NOTED_SPEAKERS = 3


class RecordedOutput(Protocol):
    """The attributes read from an output; the model satisfies it, and so does any test's plain object."""

    pk: Any
    author: str
    said_by: str
    answered_by: str
    question: str
    answer: str
    messages: Any
    created_at: Any


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One numbered item of a prompt: lines cite its ``label`` and are checked against its ``text``."""

    label: str
    text: str
    tokens: int

    def __str__(self) -> str:
        return f"[{self.label}] {self.text}"


def read(outputs: Iterable[RecordedOutput], *, tz: ZoneInfo, masker: Masker) -> list[Turn]:
    """Turns with secrets masked, dated in the bank's zone, each attributed to the account that wrote it.

    A secret that is detected in one turn is masked in all turns, earlier and later ones.
    """
    turns = [
        Turn(
            id=output.pk,
            at=output.created_at.astimezone(tz),
            utterances=tuple(_rewritten(_utterances(output), masker.mask)),
        )
        for output in outputs
    ]
    return [replace(turn, utterances=tuple(_rewritten(turn.utterances, masker.mask_learnt))) for turn in turns]


def speakers(outputs: Iterable[RecordedOutput]) -> frozenset[str]:
    """The speakers in the turns that :func:`read` makes of these outputs. Nothing is masked, and no text returned."""
    return frozenset(said.speaker for output in outputs for said in _utterances(output) if plain(said.text).strip())


def _rewritten(utterances: Iterable[Utterance], rewrite: Callable[[str], str]) -> Iterator[Utterance]:
    """The utterances with rewritten texts; empty ones are dropped."""
    for utterance in utterances:
        text = rewrite(utterance.text).strip()
        if text:
            yield replace(utterance, text=text)


def _utterances(output: RecordedOutput) -> Iterator[Utterance]:
    """Question, the messages in between, answer."""
    author = display_name(output.author)
    quoting = f"{author}, quoting {display_name(output.said_by)}" if output.said_by else author
    yield Utterance("user", quoting, output.question)
    for message in _as_list(output.messages):
        yield from _between(message, {output.question, output.answer}, author)
    yield Utterance(
        "assistant", display_name(output.answered_by) if output.answered_by else ASSISTANT_SPEAKER, output.answer
    )


def _between(message: Any, known_texts: set[str], author: str) -> Iterator[Utterance]:
    """Tool calls, tool results and images of one message in OpenAI's chat format, as text."""
    if not isinstance(message, dict):
        return
    role = str(message.get("role", ""))
    content = _content(message.get("content"))
    if role == "tool":
        yield Utterance(
            "tool", f"result of {escape(str(message.get('name') or 'tool'))[:MAX_TOOL_NAME_CHARACTERS]}", content
        )
    elif role == "document":  # something that the author attached or pasted: nobody in this chat said it
        yield Utterance(
            "tool", f"document {escape(str(message.get('name') or ''))[:MAX_TOOL_NAME_CHARACTERS]}", content
        )
    # Clients repeat the question and the answer here; they must not be remembered twice.
    elif role in ("user", "assistant") and content not in known_texts:
        leftover = IMAGE_PLACEHOLDER if content.replace(IMAGE_PLACEHOLDER, "").strip() in known_texts else content
        yield (
            Utterance("user", author, leftover)
            if role == "user"
            else Utterance("assistant", ASSISTANT_SPEAKER, leftover)
        )
    for call in _as_list(message.get("tool_calls")):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield Utterance("tool", CALL_SPEAKER, f"{function.get('name')}({function.get('arguments')})")


def _as_list(value: Any) -> list[Any]:
    """A list unchanged; anything else, which older versions accepted, as an empty list."""
    return value if isinstance(value, list) else []


def _content(content: Any) -> str:
    """The text of a message's content: a string, or parts, with placeholders for pictures."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    parts = [part for part in content if isinstance(part, dict)]
    return "\n".join(
        str(part.get("text", "")) if part.get("type") == "text" else f"[{_placeholder(part)}]" for part in parts
    )


def _placeholder(part: dict[str, Any]) -> str:
    kind = str(part.get("type", "attachment"))
    return "image" if "image" in kind else kind.removeprefix("input_")


def numbered(texts: Iterable[str], *, encoding: str) -> list[SourceItem]:
    return [SourceItem(str(number), text, tokens.count(text, encoding)) for number, text in enumerate(texts, start=1)]


def dated_items(turns: Sequence[Turn], *, encoding: str) -> list[SourceItem]:
    """The turns, numbered from 1, each with its date and with relative dates resolved."""
    return resolve_dates(undated_items(turns, encoding=encoding), turns, encoding=encoding)


def undated_items(turns: Sequence[Turn], *, encoding: str) -> list[SourceItem]:
    """Like :func:`dated_items`, with unresolved relative dates: ten times as fast, and enough for planning."""
    names = name_words(u.speaker for turn in turns for u in turn.utterances)
    bodies = [LINE_INDENT.join(f"{u.speaker}: {_shown(u, names)}" for u in turn.utterances) for turn in turns]
    texts = (f"({dates.format_date(turn.at.date())}) {body}" for turn, body in zip(turns, bodies, strict=True))
    return numbered(texts, encoding=encoding)


def resolve_dates(planned: Iterable[SourceItem], turns: Sequence[Turn], *, encoding: str) -> list[SourceItem]:
    """Resolve the relative dates of items, or parts of items, that :func:`undated_items` made of ``turns``."""
    return [_dated(item, turns[int(item.label) - 1], encoding) for item in planned]


def _dated(item: SourceItem, turn: Turn, encoding: str) -> SourceItem:
    text = dates.resolve(item.text, turn.at.date())
    return item if text == item.text else replace(item, text=text, tokens=tokens.count(text, encoding))


def split_speaker(text: str, days: Collection[date], speakers: Collection[str]) -> tuple[str, str]:
    """Split a line that a model copied with its item's date and speaker into speaker, or "", and text."""
    for day in days:
        text = text.removeprefix(f"({dates.format_date(day)}) ")
    for speaker in speakers:
        if speaker and text.startswith(f"{speaker}: "):
            return speaker, text.removeprefix(f"{speaker}: ")
    return "", text


def notes_speaker(speakers: Iterable[str]) -> str:
    """The speaker shown for a line in a model's own words: the people that it summarises; "" for none or too many."""
    names = list(dict.fromkeys(name.removeprefix(NOTED_FROM) for name in speakers if name))
    return NOTED_FROM + ", ".join(names) if 0 < len(names) <= MAX_NOTED_SPEAKERS else ""


def _shown(utterance: Utterance, names: Collection[str]) -> str:
    """The indented text. A tool call begins with the tool's name, which is not quoted as speech in that name."""
    return _indented(utterance.text, () if utterance.speaker == CALL_SPEAKER else names)


def _indented(text: str, names: Collection[str]) -> str:
    """The lines of a message, indented and with speech in other people's names quoted."""
    return LINE_INDENT.join(quote_speech(line, names) for raw in text.splitlines() if (line := escape(raw)))


def chunks(numbered: Iterable[SourceItem], limit: int, *, encoding: str) -> list[list[SourceItem]]:
    """Runs of items of at most ``limit`` tokens each, split between turns; a longer turn is split, too.

    Nothing is left out and nothing is repeated; the parts of a split turn keep its number.
    """
    return _runs((piece for item in numbered for piece in _split(item, limit, encoding)), limit)


def even_chunks(
    numbered: Iterable[SourceItem], size: int, *, width: int, limit: int, encoding: str
) -> list[list[SourceItem]]:
    """Like :func:`chunks`, in runs of about ``size`` tokens and equal length, as many as fill waves of ``width`` runs.

    A run may be a tenth longer than ``size``, but never longer than ``limit``, because an additional wave for the rest
    would take as long as any other. No run is cut below half of ``size`` only to fill a wave. If turns are too long for
    runs of equal length, there are as few runs as possible.
    """
    pieces = [piece for item in numbered for piece in _split(item, min(size, limit), encoding)]
    total = sum(piece.tokens for piece in pieces)
    longest = min(limit, size + size // 10)
    fullest = _runs(pieces, longest)
    fewest = max(ceil(total / size), len(fullest))
    wanted = max(fewest, min(ceil(fewest / width) * width, 2 * total // size))
    even = _even(pieces, wanted)
    return even if all(sum(piece.tokens for piece in run) <= longest for run in even) else fullest


def before_each(chunks: Sequence[Sequence[SourceItem]], size: int, *, encoding: str) -> list[list[SourceItem]]:
    """What a reader of each chunk has to know of the chat: how it began, and how the chunk before ended.

    At most ``size`` tokens for each chunk; nothing for the first one.
    """
    half = max(1, size // 2)
    pieces = [[piece for item in chunk for piece in _split(item, half, encoding)] for chunk in chunks]
    opening = _runs(pieces[0], half)[0]
    endings = (_runs(former[::-1], half)[0][::-1] for former in pieces[:-1])
    return [[], *(list(dict.fromkeys([*opening, *ending])) for ending in endings)]


def _even(pieces: Sequence[SourceItem], wanted: int) -> list[list[SourceItem]]:
    """Each piece in the run that contains its middle, if all runs had the same length."""
    total = sum(piece.tokens for piece in pieces)
    runs: list[list[SourceItem]] = [[] for _ in range(wanted)]
    before = 0
    for piece in pieces:
        runs[min(wanted - 1, (2 * before + piece.tokens) * wanted // (2 * total or 1))].append(piece)
        before += piece.tokens
    return [run for run in runs if run]


def _runs(pieces: Iterable[SourceItem], limit: int) -> list[list[SourceItem]]:
    """Runs as full as ``limit`` allows; a longer piece is a run of its own."""
    runs: list[list[SourceItem]] = [[]]
    tokens_left = limit
    for piece in pieces:
        if piece.tokens > tokens_left and runs[-1]:
            runs.append([])
            tokens_left = limit
        runs[-1].append(piece)
        tokens_left -= piece.tokens
    return runs


def _split(item: SourceItem, limit: int, encoding: str) -> Iterator[SourceItem]:
    """The item itself, or parts of it of at most ``limit`` tokens, cut at a space if one is near."""
    if item.tokens <= limit:
        yield item
        return
    size = max(1, len(item.text) * limit // item.tokens * 19 // 20)
    start = 0
    while start < len(item.text):
        end = _cut(item.text, start, start + size)
        while (count := tokens.count(item.text[start:end], encoding)) > limit and end - start > 1:
            end = start + max(1, (end - start) * limit // count)
        yield SourceItem(item.label, item.text[start:end], count)
        start = end


def _cut(text: str, start: int, end: int) -> int:
    """``end``, moved back to just after a space in the last tenth of the slice."""
    if end >= len(text):
        return len(text)
    space = max(text.rfind(" ", end - (end - start) // 10, end), text.rfind("\n", end - (end - start) // 10, end))
    return space + 1 if space > start else end


def fence(lines: Iterable[object], nonce: str, name: str = "data") -> str:
    """Enclose the lines in fences that nobody could have forged; ``nonce`` must be random and new."""
    return "\n".join([f"<<<{name} {nonce}", *map(str, lines), f"{name} {nonce}>>>"])

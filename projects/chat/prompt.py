"""What the model is sent: one pure assembly of system prompt, memory, recent turns and the new message."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.llm import MESSAGE_TOKENS, Message
from memorybank.services import PromptMemory, Text

DEFAULT_SYSTEM = "You are a helpful assistant. Say so when you do not know something."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier turn of this chat; ``answer`` is empty if nobody answered. ``tools`` is what they said in between."""

    question: str
    answer: str
    tools: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages ready to send, and what they cost in tokens. ``turns`` is how many earlier ones fitted.

    ``cut`` says that there are turns that did not.
    """

    messages: list[Message]
    memory: PromptMemory
    tokens: int
    turns: int
    cut: bool = False


def assemble(
    *,
    system: str,
    memory: PromptMemory,
    newest_first: Iterable[Exchange],
    message: str,
    context_tokens: int,
    checkpoint: str = "",
    count: Callable[[str], int] | None = None,
) -> Prompt:
    """Everything in the order that provider prompt caches like best: what changes least comes first.

    The block stands in the system prompt; notes follow the new message and are not sent again with the next one,
    so that every prompt begins with all that the one before it had, up to its notes. A ``checkpoint`` stands where
    the turns stood that it was made of. Of the turns after it the newest ones are kept, whole, as many as fit
    ``context_tokens`` beside an :func:`answer_reserve`; reading ``newest_first`` stops at the first that does not.
    Raises :class:`InvalidInput` when the message does not fit even without all that, and without notes.
    """
    count = count or services.count_tokens
    head = _paragraphs(system.strip() or DEFAULT_SYSTEM, memory.block.text)
    before = count(head) + 2 * MESSAGE_TOKENS
    earlier, bare = list(_spoken(Exchange(checkpoint, ""))), replace(memory, recalled=Text())
    # A message comes before what is recalled for it, and that before what was said earlier.
    for told, standing in ((memory, earlier), (bare, earlier), (bare, [])):
        last = _paragraphs(message, told.recalled.text)
        used = before + count(last) + _cost(standing, count)
        room = context_tokens - answer_reserve(context_tokens) - used
        if room >= 0:
            break
    else:
        raise InvalidInput(_too_long(count(message), count(message) + room))
    kept, cost, cut = _that_fit(newest_first, room, count)
    said = chain(standing, chain.from_iterable(map(_spoken, reversed(kept))))
    messages = _alternating([Message(role="system", content=head), *said, Message(role="user", content=last)])
    return Prompt(messages, told, used + cost, len(kept), cut or standing != earlier)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def answer_reserve(context_tokens: int) -> int:
    """Tokens of the context window left free for the answer: a quarter, at most 4,096."""
    return min(4096, context_tokens // 4)


def _that_fit(
    newest_first: Iterable[Exchange], room: int, count: Callable[[str], int]
) -> tuple[list[Exchange], int, bool]:
    """The newest turns, their tokens, and whether there is one that did not fit."""
    kept: list[Exchange] = []
    used = 0
    for turn in newest_first:
        cost = _cost(_spoken(turn), count)
        if used + cost > room:
            return kept, used, True
        kept.append(turn)
        used += cost
    return kept, used, False


def _cost(said: Iterable[Message], count: Callable[[str], int]) -> int:
    return sum(count(message["content"]) + MESSAGE_TOKENS for message in said)


def _spoken(turn: Exchange) -> Iterator[Message]:
    if asked := _paragraphs(turn.question, turn.tools):  # beside the question: nobody should learn to write such things
        yield Message(role="user", content=asked)
    if turn.answer:
        yield Message(role="assistant", content=turn.answer)


def _alternating(messages: list[Message]) -> list[Message]:
    """Neighbours of one role joined: many chat templates refuse two in a row."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            content = f"{joined[-1]['content']}\n\n{message['content']}"
            joined[-1] = Message(role=message["role"], content=content)
        else:
            joined.append(message)
    return joined


def _too_long(has: int, limit: int) -> str:
    if limit <= 0:
        return _("message: the system prompt and the memory leave no room for it in the model's context.")
    return _("message: %(has)s tokens; at most %(most)s fit into the model's context.") % {
        "has": intcomma(has),
        "most": intcomma(limit),
    }

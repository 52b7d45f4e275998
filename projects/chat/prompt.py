"""The prompt of the chat model: a pure function of system prompt, memory, recent turns and the new message."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.llm import MESSAGE_TOKENS, Message
from memorybank.services import PromptMemory, Text

DEFAULT_SYSTEM = services.prompt_text("chat.assistant")


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """One earlier turn of this chat; ``answer`` is empty if there was none. ``tools`` is the output of its tools."""

    question: str
    answer: str
    tools: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages ready to send, and their tokens. ``turns`` earlier turns fit; ``cut`` is true if not everything did."""

    messages: list[Message]
    memory: PromptMemory
    tokens: int
    turns: int
    cut: bool = False

    @property
    def without_memory(self) -> list[str]:
        """The texts of the messages, without what memory added to the first and the last."""
        texts = [message["content"] for message in self.messages]
        texts[0] = texts[0].removesuffix(self.memory.system)
        texts[-1] = texts[-1].removesuffix(self.memory.recalled.text)
        return texts


def assemble(
    *,
    system: str,
    memory: PromptMemory,
    newest_first: Iterable[EarlierTurn],
    message: str,
    context_tokens: int,
    checkpoint: str = "",
    count: Callable[[str], int] | None = None,
) -> Prompt:
    """Assemble a prompt for provider prompt caches: the parts that change least come first.

    The system message contains the block, then the lines for the asker alone. Notes follow the new message and are not
    sent again with the next one, so each prompt begins with the previous prompt up to its notes. A ``checkpoint``
    replaces the turns that it summarises. Of the later turns, the newest are included unshortened, as many as fit
    ``context_tokens`` minus the :func:`answer_reserve`; ``newest_first`` is read up to the first turn that does not
    fit. Raises :class:`InvalidInput` if the message does not fit even without turns and notes.
    """
    count = count or services.count_tokens
    head = _paragraphs(system.strip() or DEFAULT_SYSTEM, memory.system)
    before = count(head) + 2 * MESSAGE_TOKENS
    earlier, without_notes = list(_messages(EarlierTurn(checkpoint, ""))), replace(memory, recalled=Text())
    # If not all fit, the notes are dropped first, then the checkpoint, but never the message.
    for sent, standing in ((memory, earlier), (without_notes, earlier), (without_notes, [])):
        last = _paragraphs(message, sent.recalled.text)
        used = before + count(last) + _tokens(standing, count)
        room = context_tokens - answer_reserve(context_tokens) - used
        if room >= 0:
            break
    else:
        raise InvalidInput(_too_long(count(message), count(message) + room))
    kept, tokens, cut = _newest_that_fit(newest_first, room, count)
    history = chain(standing, chain.from_iterable(map(_messages, reversed(kept))))
    messages = _alternating([Message(role="system", content=head), *history, Message(role="user", content=last)])
    return Prompt(messages, sent, used + tokens, len(kept), cut or standing != earlier)


def continued(prompt: Prompt, prefix: str) -> Prompt:
    """Add the beginning of the answer and a request to continue it; an empty ``prefix`` changes nothing."""
    if not prefix:
        return prompt
    asking = Message(role="user", content=services.prompt_text("chat.continue"))
    return replace(prompt, messages=[*prompt.messages, Message(role="assistant", content=prefix), asking])


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def answer_reserve(context_tokens: int) -> int:
    """Tokens of the context window left free for the answer: a quarter, at most 4,096."""
    return min(4096, context_tokens // 4)


def _newest_that_fit(
    newest_first: Iterable[EarlierTurn], room: int, count: Callable[[str], int]
) -> tuple[list[EarlierTurn], int, bool]:
    """The newest turns, their tokens, and whether another one did not fit."""
    kept: list[EarlierTurn] = []
    used = 0
    for turn in newest_first:
        tokens = _tokens(_messages(turn), count)
        if used + tokens > room:
            return kept, used, True
        kept.append(turn)
        used += tokens
    return kept, used, False


def _tokens(messages: Iterable[Message], count: Callable[[str], int]) -> int:
    return sum(count(message["content"]) + MESSAGE_TOKENS for message in messages)


def _messages(turn: EarlierTurn) -> Iterator[Message]:
    # Tool output goes with the question: in the answer, it would teach the model to write such output itself.
    if content := _paragraphs(turn.question, turn.tools):
        yield Message(role="user", content=content)
    if turn.answer:
        yield Message(role="assistant", content=turn.answer)


def _alternating(messages: list[Message]) -> list[Message]:
    """Join consecutive messages of the same role, because many chat templates reject two in a row."""
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

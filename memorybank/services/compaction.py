"""The part of the public face that shortens a chat for its own prompt."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from memorybank.models import Bank, Checkpoint, Compaction

if TYPE_CHECKING:
    from memorybank.compaction.progress import Progress

# What makes a checkpoint is imported where it is called, as in ``services``.


def tools_said(messages: Any) -> str:
    """What tools were asked and said in a turn (an output's ``messages``), as text for a prompt; "" if nothing.

    Any provider takes it: calls and results are no messages of their own, so none is without the other.
    """
    from memorybank.compaction import tool_messages

    return tool_messages.told(messages)


def compact_chat(
    bank: Bank,
    *,
    chat_key: str,
    window: int,
    focus: str = "",
    harder: bool = False,
    progress: "Callable[[Progress], None] | None" = None,
    now: datetime | None = None,
) -> Checkpoint:
    """Put a checkpoint in the place of a chat's earlier turns, for the prompts of this chat and nothing else.

    ``window`` is what the chat's model reads, in tokens; ``focus`` what matters most (at most 1,000 characters);
    ``harder`` keeps half as much. By the chat's own model, in parts at the same time where one call cannot read it;
    without a model, of sentences that were said. ``progress`` is told each step, with a percentage that never goes
    back. Turns stay stored, and what is said meanwhile follows the checkpoint.

    Raises :class:`NotCompacted`, which says why and how many tokens, for whatever fails: the chat is then as it was.
    """
    from memorybank.compaction import lease

    now = now or timezone.now()
    held = lease.begin(bank, chat_key=chat_key, focus=focus, awaited=False, now=now)
    return finish_compaction(held, window=window, harder=harder, progress=progress, now=now)


def begin_compaction(bank: Bank, *, chat_key: str, focus: str = "", now: datetime | None = None) -> Compaction:
    """Take a chat for :func:`finish_compaction`, which must follow in this process: somebody awaits it.

    Raises :class:`NotCompacted`, with how far it is, if it is being compacted already.
    """
    from memorybank.compaction import lease

    return lease.begin(bank, chat_key=chat_key, focus=focus, awaited=True, now=now or timezone.now())


def resume_compaction(bank: Bank, *, chat_key: str, now: datetime | None = None) -> Compaction | None:
    """What :func:`begin_compaction` gave a process that has died since, a minute ago or longer; None if none has."""
    from memorybank.compaction import lease

    return lease.resume(bank, chat_key=chat_key, now=now or timezone.now())


def finish_compaction(
    held: Compaction,
    *,
    window: int,
    harder: bool = False,
    progress: "Callable[[Progress], None] | None" = None,
    now: datetime | None = None,
) -> Checkpoint:
    """Do what was begun; see :func:`compact_chat`."""
    from memorybank.compaction import compact

    return compact.compact(held, window=window, harder=harder, tell=progress, now=now or timezone.now())

"""Template filters for chats, turns and checkpoints."""

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memorybank.services import BlockLineVersion, Chat, Checkpoint, MemoryLine
from projects.chat import compaction, markdown, revisions
from projects.memory import rows

register = template.Library()


@register.filter
def named(chat: Chat) -> str:
    return chat.title or (_("Untitled chat") if chat.last_output_at else _("New chat"))


@register.filter
def when(line: MemoryLine | BlockLineVersion) -> str:
    return rows.when(line)


@register.filter
def formatted(answer: str) -> SafeString:
    return markdown.as_html(answer)


@register.filter
def standing_after(checkpoints: dict[int, Checkpoint], sequence: int) -> Checkpoint | None:
    """The checkpoint that replaces the turns up to an output."""
    return checkpoints.get(sequence)


@register.filter
def version_of(versions: dict[int, revisions.Versions], output: int) -> revisions.Versions | None:
    """Which version of a turn is shown, if it has several."""
    return versions.get(output)


@register.filter
def compacted(checkpoint: Checkpoint) -> str:
    return compaction.label(checkpoint)

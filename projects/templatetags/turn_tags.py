"""Template filters for chats, turns and checkpoints."""

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memorybank.services import BlockLineVersion, Chat, Checkpoint, MemoryLine, Output, public_id
from projects.chat import compaction, revisions
from projects.memory import rows
from projects.web import markdown

#: Fewer tokens are so few words that a round number says nothing.
MIN_COUNTED_TOKENS = 20

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
def with_sources(turn: Output, used_page: str) -> SafeString:
    """A turn's answer with the numbers of the lines of memory that it uses; each leads to ``used_page``."""
    given = getattr(turn, "answer_context", None)
    # An answer that was shortened since has no sentence where the last mark stands.
    marks = given.marks if given and given.marks and given.marks[-1][0] <= len(turn.answer) else []
    return markdown.with_sources(turn.answer, marks, f"{used_page}#source-{public_id(turn.pk)}-")


@register.filter
def standing_after(checkpoints: dict[int, Checkpoint], sequence: int) -> Checkpoint | None:
    """The checkpoint that replaces the turns up to an output."""
    return checkpoints.get(sequence)


@register.filter
def about_words(tokens: int) -> str:
    """The end of a phrase: about how many English words these tokens are, three for four; "" if they are few."""
    if tokens < MIN_COUNTED_TOKENS:
        return ""
    words = tokens * 3 // 4
    return _(", about %(words)s words") % {"words": intcomma(round(words, -2 if words >= 1000 else -1))}


@register.filter
def rating_of(ratings: dict[int, bool], output: int) -> str:
    """The reader's rating of an answer: yes, no, or empty."""
    return {True: "yes", False: "no"}[ratings[output]] if output in ratings else ""


@register.filter
def version_of(versions: dict[int, revisions.Versions], output: int) -> revisions.Versions | None:
    """The shown version of a turn, if it has several."""
    return versions.get(output)


@register.filter
def compacted(checkpoint: Checkpoint) -> str:
    return compaction.label(checkpoint)

"""Template filters about who said a line, also in the reader's language."""

from django import template
from django.utils.translation import gettext as _

from memorybank.core.turns import ASSISTANT_SPEAKER, NOTED_FROM, NOTES_SPEAKER, speaker_names

register = template.Library()


@register.filter
def speaker_kind(speaker: str) -> str:
    """Who a stored speaker is: person, assistant, or summary for a model's own words about what people said."""
    if not speaker or speaker == NOTES_SPEAKER or speaker.startswith(NOTED_FROM):
        return "summary"
    return "assistant" if speaker == ASSISTANT_SPEAKER else "person"


@register.filter
def as_speaker(speaker: str) -> str:
    """A stored speaker as pages name them: people by their names, the model's notes and the assistant translated."""
    editor, corrects, corrected = speaker.partition(", correcting ")
    if corrects:
        names = {"editor": editor, "speaker": as_speaker(corrected)}
        return editor if editor in speaker_names(corrected) else _("%(editor)s, correcting %(speaker)s") % names
    if speaker.startswith(NOTED_FROM):
        return _("summary (%(names)s)") % {"names": speaker.removeprefix(NOTED_FROM)}
    return {NOTES_SPEAKER: _("summary"), ASSISTANT_SPEAKER: _("assistant")}.get(speaker, speaker)

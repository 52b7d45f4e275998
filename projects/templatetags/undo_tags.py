"""Template filter for notices that can be undone."""

import json
from typing import Any

from django import template
from django.contrib.messages.storage.base import Message

register = template.Library()


@register.filter
def undo(message: Message) -> dict[str, Any] | None:
    """The form that takes back what the message says, if ``projects.web.undo`` wrote it."""
    form: dict[str, Any] | None = json.loads(message.extra_tags) if (message.extra_tags or "").startswith("{") else None
    return form

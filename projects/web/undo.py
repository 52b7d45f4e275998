"""A notice after an action, with a button that undoes it; ``messages.html`` renders it."""

import json
from collections.abc import Iterable

from django.contrib import messages
from django.http import HttpRequest


def notice(request: HttpRequest, text: str, *, address: str, fields: Iterable[tuple[str, str]]) -> None:
    """Show ``text`` on the next page, with a button "Undo" that posts these fields to ``address``."""
    messages.success(request, text, extra_tags=json.dumps({"address": address, "fields": list(fields)}))

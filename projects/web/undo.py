"""A notice of what was done, with a button that takes it back. ``messages.html`` shows it."""

import json
from collections.abc import Iterable

from django.contrib import messages
from django.http import HttpRequest


def notice(request: HttpRequest, text: str, *, address: str, fields: Iterable[tuple[str, str]]) -> None:
    """Say ``text`` on the next page, with a button "Undo" that posts these fields to ``address``."""
    messages.success(request, text, extra_tags=json.dumps({"address": address, "fields": list(fields)}))

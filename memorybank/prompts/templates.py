"""Render prompt files as Django templates of plain text: no escaping, and no site's number format."""

from collections.abc import Mapping
from typing import Any

from django.template import Context, Engine

from memorybank.prompts import FOLDER

_ENGINE = Engine(dirs=[str(FOLDER)], autoescape=False)


def render(name: str, context: Mapping[str, Any]) -> str:
    """The text of a prompt file with its variables filled in: plain text, which a page has to escape."""
    template = _ENGINE.get_template(f"{name}.txt")
    return template.render(Context(dict(context), autoescape=False, use_l10n=False)).strip()

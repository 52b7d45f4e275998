"""Render prompt files as Django templates of plain text, without HTML escaping and localised numbers."""

from collections.abc import Mapping
from typing import Any

from django.template import Context, Engine

from memorybank.prompts import PROMPTS_FOLDER

_ENGINE = Engine(dirs=[str(PROMPTS_FOLDER)], autoescape=False)


def render(name: str, context: Mapping[str, Any]) -> str:
    """The text of a prompt file with its variables filled in. It is plain text: escape it in HTML pages."""
    template = _ENGINE.get_template(f"{name}.txt")
    return template.render(Context(dict(context), autoescape=False, use_l10n=False)).strip()

"""The board at the head of the admin: the person's own tenants, in numbers and small bars."""

from typing import Any

from django import template
from django.contrib.auth.models import User

from memorybank import services
from memorybank.services import Board
from projects import access

register = template.Library()

#: The chart, in units of its own; it is drawn as wide as there is room.
HEIGHT, STEP = 64, 24
#: Beside its colour each purpose has a place: from the bottom in this order.
PURPOSES = ("chat", "compact", "summary", "chunk", "merge", "digest", "embedding")


@register.inclusion_tag("projects/board.html")
def board(user: User) -> dict[str, Any]:
    """What the board shows to ``user``."""
    shown = services.board(access.banks_for(user))
    legend = [purpose for purpose in PURPOSES if any(day.costs.get(purpose) for day in shown.days)]
    rows = [{"day": day, "costs": [day.costs.get(purpose, 0) for purpose in legend]} for day in reversed(shown.days)]
    return {
        "board": shown,
        "bars": _bars(shown),
        "legend": legend,
        "rows": rows,
        "height": HEIGHT,
        "width": STEP * len(shown.days),
    }


def _bars(shown: Board) -> list[dict[str, Any]]:
    """For each day its pieces, one above the other."""
    highest = max((day.cost for day in shown.days), default=None) or 1
    bars = []
    for at, day in enumerate(shown.days):
        top, pieces = float(HEIGHT), []
        for purpose in PURPOSES:
            tall = float(day.costs.get(purpose, 0) / highest) * HEIGHT
            top -= tall
            if tall:
                pieces.append({"purpose": purpose, "y": f"{top:.1f}", "height": f"{tall:.1f}"})
        bars.append({"day": day, "x": at * STEP, "pieces": pieces})
    return bars

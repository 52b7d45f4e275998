"""The board at the head of the admin: the person's own tenants, in numbers and small bars."""

from typing import Any

from django import template
from django.contrib.auth.models import User

from memorybank import services
from memorybank.services import Dashboard, LLMCall, TimeSeries
from projects.tenancy import permissions

register = template.Library()

#: The chart, in units of its own; it is drawn as wide as there is room.
HEIGHT, STEP, TOP = 64, 24, 4
#: Beside its colour each purpose has a place: from the bottom in this order.
PURPOSES = ("chat", "compact", "summary", "chunk", "merge", "digest", "embedding")


@register.inclusion_tag("projects/board.html")
def board(user: User) -> dict[str, Any]:
    """What the board shows to ``user``."""
    shown = services.load_dashboard(permissions.banks_for(user))
    names = dict(LLMCall._meta.get_field("purpose").flatchoices)
    paid = [purpose for purpose in PURPOSES if any(day.costs.get(purpose) for day in shown.days)]
    rows = [{"day": day, "costs": [day.costs.get(purpose, 0) for purpose in paid]} for day in reversed(shown.days)]
    return {
        "board": shown,
        "bars": _bars(shown),
        "legend": [(purpose, names[purpose]) for purpose in paid],
        "rows": rows,
        "curves": [_drawn(curve) for curve in shown.curves],
        "tokens": _by_project(user, shown),
        "days": _table(shown),
        "height": HEIGHT,
        "width": STEP * len(shown.days),
    }


def _bars(shown: Dashboard) -> list[dict[str, Any]]:
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


def _by_project(user: User, shown: Dashboard) -> list[dict[str, Any]]:
    """Whose tokens they are, with the length of a bar."""
    named: dict[int, Any] = permissions.banks_for(user).in_bulk(list(shown.tokens))
    highest = max(shown.tokens.values(), default=0) or 1
    found = [(named[pk], tokens) for pk, tokens in shown.tokens.items() if pk in named]
    return [{"bank": bank, "tokens": tokens, "width": f"{100 * tokens / highest:.1f}"} for bank, tokens in found]


def _drawn(curve: TimeSeries) -> dict[str, Any]:
    """A line through the values, broken where a day has none; a day between two without is a dot."""
    highest = max((value for value in curve.values if value is not None), default=0) or 1
    lines: list[list[str]] = [[]]
    for at, value in enumerate(curve.values):
        if value is None:
            lines.append([])
        else:
            lines[-1].append(f"{at * STEP + STEP / 2:.0f},{TOP + (HEIGHT - TOP) * (1 - value / highest):.1f}")
    return {"curve": curve, "lines": [line for line in lines if line], "highest": highest}


def _table(shown: Dashboard) -> list[dict[str, Any]]:
    """The values of each day, the newest first."""
    values = zip(*(curve.values for curve in shown.curves), strict=True)
    return [{"day": day.day, "values": row} for day, row in zip(shown.days, values, strict=True)][::-1]

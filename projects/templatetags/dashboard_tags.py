"""The dashboard at the top of the admin: figures of the user's own tenants, as tiles, charts and tables."""

from typing import Any

from django import template
from django.contrib.auth.models import User

from memorybank import services
from memorybank.services import Dashboard, LLMCall, TimeSeries
from projects.tenancy import permissions

register = template.Library()

#: The size of a chart, in its own units: its height, the width of a day, and the margin above the highest value.
CHART_HEIGHT, DAY_WIDTH, TOP_MARGIN = 64, 24, 4
#: The parts of a bar from the bottom, so that they can be distinguished without their colours.
PURPOSES = ("chat", "compact", "summary", "chunk", "merge", "digest", "embedding")


@register.inclusion_tag("projects/board.html")
def board(user: User) -> dict[str, Any]:
    """The dashboard for ``user``."""
    dashboard = services.load_dashboard(permissions.banks_for(user))
    names = dict(LLMCall._meta.get_field("purpose").flatchoices)
    paid = [purpose for purpose in PURPOSES if any(day.costs.get(purpose) for day in dashboard.days)]
    values = zip(*(series.values for series in dashboard.time_series), strict=True)
    return {
        "board": dashboard,
        "bars": _bars(dashboard),
        "legend": [(purpose, names[purpose]) for purpose in paid],
        "rows": [
            {"day": day, "costs": [day.costs.get(purpose, 0) for purpose in paid]} for day in reversed(dashboard.days)
        ],
        "charts": [_chart(series) for series in dashboard.time_series],
        "tokens": _tokens_by_project(user, dashboard),
        "days": [{"day": day.day, "values": row} for day, row in zip(dashboard.days, values, strict=True)][::-1],
        "height": CHART_HEIGHT,
        "width": DAY_WIDTH * len(dashboard.days),
    }


def _bars(dashboard: Dashboard) -> list[dict[str, Any]]:
    """A bar for each day, with a part for each purpose."""
    highest = max((day.cost for day in dashboard.days), default=None) or 1
    bars = []
    for number, day in enumerate(dashboard.days):
        y, pieces = float(CHART_HEIGHT), []
        for purpose in PURPOSES:
            height = float(day.costs.get(purpose, 0) / highest) * CHART_HEIGHT
            y -= height
            if height:
                pieces.append({"purpose": purpose, "y": f"{y:.1f}", "height": f"{height:.1f}"})
        bars.append({"day": day, "x": number * DAY_WIDTH, "pieces": pieces})
    return bars


def _tokens_by_project(user: User, dashboard: Dashboard) -> list[dict[str, Any]]:
    """The tokens of each project, with the length of its bar in percent."""
    banks: dict[int, Any] = permissions.banks_for(user).in_bulk(list(dashboard.tokens))
    highest = max(dashboard.tokens.values(), default=0) or 1
    return [
        {"bank": banks[pk], "tokens": tokens, "width": f"{100 * tokens / highest:.1f}"}
        for pk, tokens in dashboard.tokens.items()
        if pk in banks
    ]


def _chart(series: TimeSeries) -> dict[str, Any]:
    """Lines through the values, broken at days without one. A line of one point is drawn as a dot."""
    highest = max((value for value in series.values if value is not None), default=0) or 1
    lines: list[list[str]] = [[]]
    for number, value in enumerate(series.values):
        if value is None:
            lines.append([])
        else:
            x, y = (number + 0.5) * DAY_WIDTH, TOP_MARGIN + (CHART_HEIGHT - TOP_MARGIN) * (1 - value / highest)
            lines[-1].append(f"{x:.0f},{y:.1f}")
    return {"series": series, "lines": [line for line in lines if line], "highest": highest}

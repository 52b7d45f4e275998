"""The operator's dashboard, and the same charts of one project: tiles, charts and tables."""

from datetime import UTC
from decimal import Decimal
from typing import Any

from django import template
from django.contrib.auth.models import User
from django.template.defaultfilters import floatformat
from django.utils.timezone import now
from django.utils.translation import gettext as _

from memorybank import services
from memorybank.services import CHART_PERIODS, Dashboard, LLMCall
from projects.memory import charts
from projects.models import Project
from projects.tenancy import permissions
from projects.tenancy.budget import currency

register = template.Library()

#: The parts of a bar from the bottom, so that they can be distinguished without their colours.
PURPOSES = ("chat", "compact", "title", "summary", "chunk", "merge", "digest", "embedding")
#: A share is drawn up to all of it.
FULL_BAR_BY_UNIT = {"%": 100.0}
DAYS_A_MONTH = 30
#: The period from the first day of this month (UTC), in addresses.
THIS_MONTH = "month"


@register.inclusion_tag("projects/board.html", takes_context=True)
def board(context: dict[str, Any]) -> dict[str, Any]:
    """The dashboard of everything that the reader may see."""
    user: User = context["request"].user
    period, is_month = _period(context, default="")
    dashboard = services.load_dashboard(permissions.banks_for(user), period=period)
    return {"board": dashboard, "is_month": is_month, "usage": _usage(user, dashboard), **_charts(dashboard, None)}


@register.inclusion_tag("projects/charts.html", takes_context=True)
def project_charts(context: dict[str, Any], project: Project) -> dict[str, Any]:
    """The costs and figures of one project, by default of this month."""
    period, is_month = _period(context, default=THIS_MONTH)
    dashboard = services.load_dashboard(services.all_banks().filter(pk=project.bank_id), period=period)
    return {"board": dashboard, "is_month": is_month, "of_project": True, **_charts(dashboard, project.cap)}


@register.filter
def money(value: Decimal | float) -> str:
    """An amount with the currency of the prices."""
    return f"{floatformat(value, '4g' if 0 < value < 1 else '2g')} {currency()}"


def _period(context: dict[str, Any], default: str) -> tuple[int, bool]:
    """The number of days that the address asks for, 0 if none, and whether they are those of this month."""
    days = context["request"].GET.get("days", default)
    if days == THIS_MONTH:
        return now().astimezone(UTC).day, True
    return (int(days) if days.isascii() and days.isdigit() and len(days) < 4 else 0), False


def _charts(dashboard: Dashboard, cap: Decimal | None) -> dict[str, Any]:
    names = {**dict(LLMCall._meta.get_field("purpose").flatchoices), "digest": _("Summary of a period")}
    paid = [purpose for purpose in PURPOSES if any(day.costs.get(purpose) for day in dashboard.days)]
    days = [day.day for day in dashboard.days]
    costs = [{purpose: float(cost) for purpose, cost in day.costs.items()} for day in dashboard.days]
    of_series = [
        (series, charts.line(days, series.values, FULL_BAR_BY_UNIT.get(series.unit, 0)))
        for series in dashboard.time_series
    ]
    values = zip(*(series.values for series in dashboard.time_series), strict=True)
    used = [
        {"day": day, "costs": [day.costs.get(purpose, 0) for purpose in paid], "values": row}
        for day, row in zip(dashboard.days, values, strict=True)
        if day.calls or any(row)
    ]
    return {
        "cost_chart": charts.bars(days, costs, PURPOSES, float(cap or 0) / DAYS_A_MONTH),
        "total": sum((day.cost for day in dashboard.days), Decimal()),
        "legend": [(purpose, names[purpose]) for purpose in paid],
        "charts": of_series,
        "rows": used[::-1],
        "periods": CHART_PERIODS,
        "cap": cap,
        "currency": currency(),
    }


def _usage(user: User, dashboard: Dashboard) -> list[dict[str, Any]]:
    """Usage and cost of each project, with the length of its bar in percent."""
    banks: dict[int, Any] = permissions.banks_for(user).select_related("project__tenant").in_bulk(list(dashboard.usage))
    highest = max((usage.cost for usage in dashboard.usage.values()), default=0) or 1
    return [
        {"bank": banks[pk], "usage": usage, "width": f"{100 * usage.cost / highest:.1f}"}
        for pk, usage in dashboard.usage.items()
        if pk in banks
    ]

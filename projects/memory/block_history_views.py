"""The page of the block's history: at a moment, between two moments, and at each of its last changes."""

from datetime import UTC, date, datetime, time
from typing import Any

from django import forms
from django.core.validators import MinValueValidator
from django.http import HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import BlockLineVersion

from . import block_history
from . import rows as memory_rows
from .page import MemoryPage, memory_page

#: No memory is older, and moments near the ends of the calendar have no time in some time zones.
EARLIEST_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)


class _MomentField(forms.DateTimeField):
    """A moment, or a day: that is its start, also where the clock skips midnight or shows it twice."""

    def to_python(self, value: Any) -> datetime | None:
        if day := _day(value):
            return datetime.combine(day, time.min, timezone.get_current_timezone())
        return super().to_python(value)


def _day(text: str | None) -> date | None:
    """The day that a text names without a time; None if it names none."""
    try:
        return parse_date((text or "").strip())
    except ValueError:  # such as 31 February
        return None


def _moment_field(label: str = "") -> forms.DateTimeField:
    picker = forms.DateInput({"type": "date"}, format="%Y-%m-%d")
    bounds = [MinValueValidator(EARLIEST_MOMENT)]
    return _MomentField(label=label, required=False, widget=picker, validators=bounds)


class MomentsForm(forms.Form):
    """One moment, or two; ``change`` is the exact moment of a change. Changes from ``before`` a moment are listed.

    People choose days of the project's time zone; addresses may name a time of the day, too.
    """

    at = _moment_field(_("Memory as of"))  # type: ignore[arg-type]  # lazy
    to = _moment_field(_("and changes until"))  # type: ignore[arg-type]  # lazy
    change = _moment_field()
    before = _moment_field()

    def moment(self, name: str, now: datetime, *, end: bool = False) -> datetime | None:
        """The moment in a field, at most ``now``; None if the field is empty or invalid.

        Of a day without a time, its start, or with ``end`` its end.
        """
        self.is_valid()
        moment: datetime | None = self.cleaned_data.get(name)
        if moment and end and (day := _day(self.data[name])):
            moment = datetime.combine(day, time.max.replace(fold=1), moment.tzinfo)
        return moment and min(moment, now)


@memory_page("memory-past")
def past_page(page: MemoryPage) -> HttpResponse:
    form, now = MomentsForm(page.request.GET), timezone.now()
    to, change = form.moment("to", now, end=True), form.moment("change", now)
    at = form.moment("at", now, end=to is None)
    before = form.moment("before", now)
    changes, older = block_history.latest(page.bank, before, include_hidden=page.may_act)
    kept_since = services.block_kept_since(page.bank, now=now)
    context: dict[str, Any] = {
        "form": form if form.errors else MomentsForm(initial={"at": at, "to": to}),
        "kept_since": kept_since,
        "changes": changes,
        "before": before,
        "older": older,
    }
    if moment := change or at:
        context |= {
            "moment": moment,
            "was_on": services.was_enabled(page.bank, moment),
            "is_incomplete": services.block_lines_missing(page.bank, moment, to),
            "is_kept": kept_since is not None and moment >= kept_since,
        }
        context |= _lines_or_difference(page, moment, to, is_change=bool(change))
    return page.render("past", context)


def _lines_or_difference(page: MemoryPage, moment: datetime, to: datetime | None, *, is_change: bool) -> dict[str, Any]:
    """The lines of a moment, or the difference between two moments or at a change."""
    bank, include_hidden = page.bank, page.may_act
    if is_change:
        return {"difference": block_history.change_at(bank, moment, include_hidden=include_hidden)}
    lines = block_history.lines_at(bank, moment, include_hidden=include_hidden)
    if not to:
        days: dict[str, list[BlockLineVersion]] = {}
        for line in block_history.without_past_ends(bank, lines, timezone.now()):
            days.setdefault(memory_rows.when(line), []).append(line)
        return {"days": days.items()}
    later = block_history.lines_at(bank, to, include_hidden=include_hidden)
    return {"to": to, "difference": block_history.difference(lines, later)}

"""Restrict the admin to the banks that a staff member may see."""

from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.http import HttpRequest
from django.utils.module_loading import import_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memorybank import conf
from memorybank.admin.lookups import ReadOnlyAdmin, RestrictedLookupsAdmin
from memorybank.models import Bank


def banks_for(request: HttpRequest) -> QuerySet[Bank]:
    """The banks this staff member may see, each with a ``label``: what ``BANKS_FOR_USER`` returns, else all."""
    path = conf.current().banks_for_user
    banks: QuerySet[Bank] = import_string(path)(request.user) if path else Bank.objects.all()
    if "label" in banks.query.annotations:
        return banks
    return banks.annotate(label=Concat(Value("bank "), Cast("pk", TextField()), output_field=TextField()))


class BankFilter(admin.SimpleListFilter):
    """By bank. Offers only banks that the user may see."""

    title = _("bank")
    parameter_name = "bank"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.lookup = model_admin.bank_lookup
        banks: Any = banks_for(request).order_by("label")  # type: ignore[misc]  # an annotation
        return [(str(bank.pk), bank.label) for bank in banks]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = {pk for pk, _label in self.lookup_choices}
        return queryset.filter(**{self.lookup: self.value()}) if self.value() in known else queryset


class SetFilter(admin.SimpleListFilter):
    """Whether a text or a time is set."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", gettext("Yes")), ("no", gettext("No"))]


class BankScoped(ReadOnlyAdmin, RestrictedLookupsAdmin):
    """Read-only, and only the user's banks; every page gets its objects from ``get_queryset``.

    With ``BANKS_FOR_USER`` set, staff status suffices and that function decides; otherwise Django's view permissions
    do.
    """

    bank_lookup = "bank"
    show_full_result_count = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        banks = banks_for(request)
        own = super().get_queryset(request).filter(**{f"{self.bank_lookup}__in": banks.values("pk")})
        return own if self.bank_lookup == "pk" else own.prefetch_related(Prefetch(self.bank_lookup, banks))

    @admin.display(description=_("bank"))
    def of_bank(self, obj: Any) -> str:
        return str(obj.bank.label)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if conf.current().banks_for_user:
            return bool(request.user.is_staff)
        return super().has_view_permission(request, obj)

    def may_decide(self, request: HttpRequest) -> bool:
        """Whether the user may decide about the memory of the banks they see."""
        if conf.current().banks_for_user:
            return bool(request.user.is_staff)
        return super().has_change_permission(request)

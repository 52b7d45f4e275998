"""Restrict the admin to the banks that a staff member may see."""

from typing import Any, cast

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Prefetch, QuerySet, TextField, Value
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.module_loading import import_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memorybank import conf
from memorybank.admin.lookups import ReadOnlyAdmin, RestrictedLookupsAdmin
from memorybank.models import Bank, PublicId, public_id

#: Rows that a list has at most; filters and search lead to others.
MAX_LISTED_ROWS = 1_000


def banks_for(request: HttpRequest) -> QuerySet[Bank]:
    """The banks of ``BANKS_FOR_USER``, or all banks without that setting, each annotated with a ``label``."""
    path = conf.current().banks_for_user
    banks: QuerySet[Bank] = import_string(path)(request.user) if path else Bank.objects.all()
    return banks if "label" in banks.query.annotations else banks.annotate(label=Value("", TextField()))


def label(bank: Bank) -> str:
    """The bank's label from ``BANKS_FOR_USER``; its public id if there is none."""
    return getattr(bank, "label", "") or str(bank)


class BankFilter(admin.SimpleListFilter):
    """Filter by bank. Offers only the banks that the user may see."""

    title = _("bank")
    parameter_name = "bank"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.lookup = model_admin.bank_lookup
        return [(public_id(bank.pk), label(bank)) for bank in sorted(banks_for(request), key=label)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value not in {name for name, _label in self.lookup_choices}:
            return queryset
        return queryset.filter(**{self.lookup: PublicId().to_python(value)})


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # Django's class cannot be subscripted
    """Pages of the first ``MAX_LISTED_ROWS`` rows: counting those of all banks would read whole tables."""

    @cached_property
    def count(self) -> int:
        return cast(QuerySet[Any], self.object_list).order_by()[:MAX_LISTED_ROWS].count()


class SetFilter(admin.SimpleListFilter):
    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", gettext("Yes")), ("no", gettext("No"))]


class BankScoped(ReadOnlyAdmin, RestrictedLookupsAdmin):
    """A read-only admin of the user's banks; every page gets its objects from ``get_queryset``.

    If ``BANKS_FOR_USER`` is set, staff status suffices and that function selects the banks; otherwise Django's view
    permissions apply.
    """

    bank_lookup = "bank"
    show_full_result_count = False
    paginator = BoundedPaginator
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        banks = banks_for(request)
        own = super().get_queryset(request).filter(**{f"{self.bank_lookup}__in": banks.values("pk")})
        return own if self.bank_lookup == "pk" else own.prefetch_related(Prefetch(self.bank_lookup, banks))

    @admin.display(description=_("bank"))
    def of_bank(self, obj: Any) -> str:
        return label(obj.bank)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if conf.current().banks_for_user:
            return bool(request.user.is_staff)
        return super().has_view_permission(request, obj)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Whether the user may decide about the memory of the banks they see."""
        if conf.current().banks_for_user:
            return bool(request.user.is_staff)
        return super().has_change_permission(request)

"""The monthly cap of a tenant, over all its projects, and the currency that costs are shown in."""

from datetime import datetime

from django.conf import settings

from memorybank import services
from memorybank.services import Bank, PreparedQuery
from projects.models import Tenant

#: The tenant of a bank, if it has a cap: asked before each model call.
_CAPPED = PreparedQuery(lambda bank: Tenant.objects.filter(projects__bank=bank, monthly_cap__isnull=False))


def is_capped(bank: Bank, since: datetime) -> bool:
    """Whether the tenant of ``bank`` has spent its cap since ``since``. ``CAPPED_FOR_BANK`` names this function."""
    tenant = _CAPPED.first(bank.pk)
    if tenant is None:
        return False
    with services.all_banks_entered():
        spent = services.spent_since(services.all_banks().filter(project__tenant=tenant), since)
    return spent >= (tenant.monthly_cap or 0)


def currency() -> str:
    """The currency in which pages show costs: the setting ``CURRENCY``, by default US dollars."""
    return getattr(settings, "CURRENCY", "USD")

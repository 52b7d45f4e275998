"""What a tenant's memory may cost a month, all projects together."""

from datetime import datetime

from memorybank.models import Bank, LLMCall
from projects.models import Tenant


def is_capped(bank: Bank, since: datetime) -> bool:
    """Whether the tenant of ``bank`` has spent since then what it may. ``memorybank`` asks, by ``CAPPED_FOR_BANK``."""
    tenant = Tenant.objects.filter(projects__bank=bank).first()
    if tenant is None or tenant.monthly_cap is None:
        return False
    return LLMCall.objects.of_memory(Bank.objects.filter(project__tenant=tenant), since) >= tenant.monthly_cap

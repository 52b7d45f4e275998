"""What a tenant's memory may cost a month, all projects together."""

from datetime import datetime

from memorybank import services
from memorybank.services import Bank
from projects.models import Tenant


def is_capped(bank: Bank, since: datetime) -> bool:
    """Whether the tenant of ``bank`` has spent since then what it may. ``memorybank`` asks, by ``CAPPED_FOR_BANK``."""
    tenant = Tenant.objects.filter(projects__bank=bank).first()
    if tenant is None or tenant.monthly_cap is None:
        return False
    return services.spent_since(services.all_banks().filter(project__tenant=tenant), since) >= tenant.monthly_cap

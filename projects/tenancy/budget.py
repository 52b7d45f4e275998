"""The monthly cap of a tenant, over all its projects."""

from datetime import datetime

from memorybank import services
from memorybank.services import Bank
from projects.models import Tenant


def is_capped(bank: Bank, since: datetime) -> bool:
    """Whether the tenant of ``bank`` has reached its cap since then; the setting ``CAPPED_FOR_BANK`` names this."""
    tenant = Tenant.objects.filter(projects__bank=bank).first()
    if tenant is None or tenant.monthly_cap is None:
        return False
    with services.every_bank():
        spent = services.spent_since(services.all_banks().filter(project__tenant=tenant), since)
    return spent >= tenant.monthly_cap

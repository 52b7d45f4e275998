"""The audit trail: who did what to a bank, and when. Never what anybody said."""

from datetime import datetime
from typing import Any

from memorybank.models import Bank, Event


def log(bank: Bank, actor: str, action: Event.Action, now: datetime, **detail: Any) -> None:
    """Append to the trail. ``detail`` never holds chat text."""
    Event.objects.create(bank=bank, actor=actor[:200], action=action, detail=detail, at=now)

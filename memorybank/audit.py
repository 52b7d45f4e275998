"""The audit trail: who did what to a bank, and when. Never what anybody said."""

from datetime import datetime
from typing import Any

from memorybank.models import Bank, Event, Trail


def log(bank: Bank, actor: str, action: Event.Action, now: datetime, **detail: Any) -> None:
    """Append to the trail; what else the transaction holds, it held before. ``detail`` never holds chat text."""
    Trail.append(Event(bank=bank, actor=actor, action=action, detail=detail, at=now))

"""The audit log: who did what to a bank, and when. It never contains chat text."""

from datetime import datetime
from typing import Any

from memorybank.models import AuditLog, Bank, Event


def log(bank: Bank, actor: str, action: Event.Action, now: datetime, **detail: Any) -> None:
    """Append to the audit log, as the transaction's last lock. ``detail`` never holds chat text."""
    AuditLog.append(Event(bank=bank, actor=actor, action=action, detail=detail, at=now))

"""The part of the public face that takes words out: for good, for a person, or until somebody has decided."""

from collections.abc import Collection
from datetime import datetime

from django.utils import timezone

from memorybank.core.reports import Receipt
from memorybank.models import Bank, Erasure
from memorybank.writing import bank_settings

# Whatever writes memory is imported where it is called, as in ``services``.


def opt_out(bank: Bank, *, author: str, out: bool = True, actor: str, now: datetime | None = None) -> None:
    """Leave a person out of memory, with all that was made of her words; or let her in again from now on."""
    bank_settings.opt_out(bank, author=author, out=out, actor=actor, now=now or timezone.now())


def forget(
    bank: Bank,
    *,
    chat: str | None = None,
    author: str | None = None,
    output: int | Collection[int] | None = None,
    facts: Collection[int] | None = None,
    actor: str,
    dry_run: bool = False,
    now: datetime | None = None,
) -> Receipt:
    """Erase one chat, all that one author said, or outputs, with all that was made of it; the receipt.

    Or, by ``facts``, a line: all outputs that they rest on, whoever said them. With ``dry_run`` nothing changes, and
    the receipt says what would go. Raises :class:`InvalidInput` if it is unknown.
    """
    from memorybank.erasure import erase

    kind = Erasure.Kind
    what = {kind.CHAT: chat, kind.AUTHOR: author, kind.OUTPUT: output, kind.LINE: facts}
    return erase.forget(bank, what, actor=actor, now=now or timezone.now(), dry_run=dry_run)


def clear(bank: Bank, *, actor: str, dry_run: bool = False, now: datetime | None = None) -> Receipt:
    """Erase every chat of a bank with all its memory; what was said until now is not taken in again."""
    from memorybank.erasure import erase

    what = {Erasure.Kind.EVERYTHING: ""}
    return erase.forget(bank, what, actor=actor, now=now or timezone.now(), dry_run=dry_run)


def forget_asked(bank: Bank, *, request_id: int, actor: str, now: datetime | None = None) -> list[Receipt]:
    """Erase what somebody asked for in a chat; a receipt a turn. Raises ``ErasureRequest.DoesNotExist``."""
    from memorybank.erasure import erase

    return erase.grant(bank, request_id, actor=actor, now=now or timezone.now())


def restore_asked(bank: Bank, *, request_id: int, actor: str, now: datetime | None = None) -> bool:
    """She did not mean it: let in again what was suppressed for a request; whether that was still open."""
    from memorybank.erasure import requests

    return requests.restore(bank, request_id, actor=actor, now=now or timezone.now())


def set_private(bank: Bank, *, chat_key: str, private: bool, actor: str, now: datetime | None = None) -> None:
    """Keep a chat out of memory and erase what came of it, at once; or let it in again."""
    bank_settings.set_private(bank, chat_key=chat_key, private=private, actor=actor, now=now or timezone.now())

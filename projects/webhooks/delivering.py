"""Deliver what is due: claim, send outside any transaction, note the result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Change, public_id

from ..models import Delivery, Webhook
from . import addresses, mail, signing

#: For one message, from the name's look-up to the status.
SECONDS_PER_MESSAGE = 15
#: Sent at the same time.
MESSAGES_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its signature."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """The status of an answer, or why there is none."""

    status: int | None
    error: str = ""


def deliver_due(now: datetime) -> int:
    """Make up to ``MESSAGES_AT_ONCE`` due deliveries; return how many were tried. Deletes old ones."""
    Delivery.objects.expire(now)
    due = list(Delivery.objects.due(now).values_list("pk", flat=True)[:MESSAGES_AT_ONCE])
    claimed = [pk for pk in due if Delivery.objects.claim(pk, now)]
    rows = list(Delivery.objects.filter(pk__in=claimed).select_related("webhook__project__tenant"))
    mails = {row.webhook for row in rows if mail.recipient(row.webhook)}
    for webhook in mails:
        mail.send(webhook, _gathered(webhook, rows, now), now)
    rows = [row for row in rows if row.webhook not in mails]
    messages = [_message(row, now) for row in rows]
    results = asyncio.run(_send_all(messages)) if messages else []
    for row, result in zip(rows, results, strict=True):
        row.finish(now, result.status, result.error)
    return len(claimed)


def _gathered(webhook: Webhook, rows: Sequence[Delivery], now: datetime) -> list[Delivery]:
    """Those of these that are for the webhook, and what waits for its mail besides."""
    own = [row for row in rows if row.webhook == webhook]
    later = Delivery.objects.filter(webhook=webhook, due_at__gt=now, attempts=0)
    return [*own, *(row for row in later if Delivery.objects.filter(pk=row.pk, attempts=0).update(attempts=1))]


def _message(row: Delivery, now: datetime) -> Message | Result:
    data = {"project": row.webhook.project.path, **_subject(row)}
    body = {"type": row.event, "timestamp": row.created_at.astimezone(UTC).isoformat(), "data": data}
    raw = json.dumps(body).encode()
    try:
        signed = signing.headers(row.webhook.secret, f"msg_{public_id(row.pk)}", now, raw)
    except InvalidInput:
        return Result(None, "the secret was encrypted with another SECRET_KEY")
    return Message(row.webhook.url, {"content-type": "application/json", **signed}, raw)


def _subject(row: Delivery) -> dict[str, Any]:
    """Ids that the API knows. A chat of a member has none there."""
    match row.event:
        case Change.ENTRY_WRITTEN:
            return {"entry": public_id(row.subject)}
        case Change.LINE_HELD_BACK:
            return {"fact": public_id(row.subject)}
        case Change.ERASED:
            return {"receipt": public_id(row.subject)}
        case Change.ERASURE_REQUESTED:
            return {"request": public_id(row.subject)}
        case Change.CAP_NEAR | Change.CAP_REACHED:
            return {}
    chats = services.chats_of(row.webhook.project.bank).filter(pk=row.subject, conversation=None)
    return {"chat": chats.values_list("key", flat=True).first()}


async def _send_all(messages: Sequence[Message | Result]) -> list[Result]:
    import httpx2  # takes 0.4 s, and no page needs it

    # No environment's proxy: it would look the name up again. No redirects: they would lead past the check.
    timeout = httpx2.Timeout(SECONDS_PER_MESSAGE, connect=5)
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout) as client:

        async def send(message: Message) -> Result:
            place = await addresses.find(message.url)
            extensions = {"sni_hostname": place.host}  # the certificate is that of the name
            headers = {**message.headers, "host": place.header}
            request: dict[str, Any] = {"content": message.body, "headers": headers, "extensions": extensions}
            async with client.stream("POST", place.url, **request) as answer:  # its body is not read
                return Result(answer.status_code)

        async def attempt(message: Message | Result) -> Result:
            if isinstance(message, Result):
                return message
            try:
                async with asyncio.timeout(SECONDS_PER_MESSAGE):
                    return await send(message)
            except addresses.Forbidden as error:
                return Result(None, str(error))
            except (httpx2.HTTPError, OSError, UnicodeError) as error:
                return Result(None, type(error).__name__)

        return list(await asyncio.gather(*map(attempt, messages)))

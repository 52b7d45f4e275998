"""Deliver due messages: claim them, send them outside any transaction, store the results."""

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

#: Time limit for one message, from the look-up of the host name to the response's status.
SECONDS_PER_MESSAGE = 15
#: The number of messages that are sent concurrently.
MESSAGES_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A message with its signature."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """The HTTP status of the response, or the reason why there is none."""

    status: int | None
    error: str = ""


def deliver_due(now: datetime) -> int:
    """Attempt up to ``MESSAGES_AT_ONCE`` due deliveries; return the number of attempts. Deletes old deliveries."""
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
    """The deliveries of one webhook: those in ``rows``, and those due later, which are claimed for the same mail."""
    own = [row for row in rows if row.webhook == webhook]
    later = Delivery.objects.filter(webhook=webhook, due_at__gt=now, attempts=0)
    return [*own, *(row for row in later if Delivery.objects.filter(pk=row.pk, attempts=0).update(attempts=1))]


def _message(row: Delivery, now: datetime) -> SignedRequest | Result:
    data = {"project": row.webhook.project.path, **_subject(row)}
    body = {"type": row.event, "timestamp": row.created_at.astimezone(UTC).isoformat(), "data": data}
    raw = json.dumps(body).encode()
    try:
        signed = signing.headers(row.webhook.secret, f"msg_{public_id(row.pk)}", now, raw)
    except InvalidInput:
        return Result(None, "the secret was encrypted with another SECRET_KEY")
    return SignedRequest(row.webhook.url, {"content-type": "application/json", **signed}, raw)


def _subject(row: Delivery) -> dict[str, Any]:
    """The id of the event's subject, as the API shows it; None for a member's chat, which the API does not show."""
    match row.event:
        case Change.ENTRY_WRITTEN:
            return {"entry": public_id(row.subject)}
        case Change.LINE_HELD_BACK:
            return {"fact": public_id(row.subject)}
        case Change.ERASED:
            return {"receipt": public_id(row.subject)}
        case Change.ERASURE_REQUESTED:
            return {"request": public_id(row.subject)}
        case Change.CAP_NEAR | Change.CAP_REACHED | "test":
            return {}
    chats = services.chats_of(row.webhook.project.bank).filter(pk=row.subject, conversation=None)
    return {"chat": chats.values_list("key", flat=True).first()}


async def _send_all(messages: Sequence[SignedRequest | Result]) -> list[Result]:
    import httpx2  # the import takes 0.4 s, and no page needs it

    # No proxy from the environment: it would look up the name again. No redirects: they would bypass the check.
    timeout = httpx2.Timeout(SECONDS_PER_MESSAGE, connect=5)
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout) as client:

        async def send(message: SignedRequest) -> Result:
            place = await addresses.find(message.url)
            extensions = {"sni_hostname": place.host}  # the certificate is for the host name
            headers = {**message.headers, "host": place.header}
            request: dict[str, Any] = {"content": message.body, "headers": headers, "extensions": extensions}
            async with client.stream("POST", place.url, **request) as answer:  # its body is not read
                return Result(answer.status_code)

        async def attempt(message: SignedRequest | Result) -> Result:
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

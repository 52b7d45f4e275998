"""Endpoints for webhooks: add, list, change and delete them, and list their deliveries."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router, Status
from pydantic import BaseModel, Field, StrictBool

from memorybank.services import Change
from projects.webhooks import registry

from ...models import Delivery, Webhook
from ...models.webhook import MAIL_SCHEME
from ..auth import key_of
from ..schemas import (
    PUBLIC_ID,
    Body,
    Cursor,
    Limit,
    Page,
    PublicIdIn,
    PublicIdOut,
    StorableText,
    page_of,
    row_id_in_path,
)

router = Router(tags=["webhooks"])

Url = Annotated[StorableText, Field(min_length=1, max_length=500, examples=["https://example.com/memory"])]
Events = Annotated[list[Change], Field(max_length=len(Change), description="The events that are sent; empty: all.")]


class NewWebhook(Body):
    """A URL that receives a message for each event."""

    url: Url
    events: Events = []


class WebhookChange(Body):
    """Changes to a webhook. Omitted fields stay unchanged."""

    url: Url | None = None
    events: Events | None = None
    enabled: StrictBool | None = None


class WebhookOut(BaseModel):
    """A webhook."""

    id: PublicIdOut
    url: str
    events: list[Change]
    enabled: bool = Field(description="false: switched off, or its address answered 410.")
    created_by: str
    created_at: datetime
    dropped: int = Field(description="Events that were not sent, because too many were waiting.")


class NewWebhookOut(WebhookOut):
    """A webhook with its secret, which is shown once."""

    secret: str = Field(description="Verifies signatures (Standard Webhooks).", examples=["whsec_…"])


class DeliveryOut(BaseModel):
    """A message and the result of its delivery; kept for seven days."""

    id: PublicIdOut
    event: Change | Literal["test"]
    created_at: datetime
    attempts: int
    delivered_at: datetime | None
    next_attempt_at: datetime | None = Field(description="null: it was delivered, or given up.")
    status: int | None = Field(description="The HTTP status of the last attempt.")
    error: str


@router.post("/webhooks", response={201: NewWebhookOut}, url_name="api-webhooks", summary="Add a webhook")
def create_webhook(request: HttpRequest, body: NewWebhook) -> Status[NewWebhookOut]:
    """Messages contain ids but no text. They are signed (Standard Webhooks), and retried for 17.6 hours."""
    key = key_of(request)
    row = registry.add(key.project, url=body.url, events=body.events, actor=key.actor, now=timezone.now())
    return Status(201, NewWebhookOut(**_values(row), secret=row.secret))


@router.get("/webhooks", response=Page[WebhookOut], url_name="api-webhooks", summary="List webhooks")
def list_webhooks(request: HttpRequest, cursor: Cursor, limit: Limit) -> Page[WebhookOut]:
    rows, after = page_of(_of_programs(request), cursor, limit)
    return Page(items=[WebhookOut(**_values(row)) for row in rows], next=after)


@router.get("/webhooks/{webhook}", response=WebhookOut, url_name="api-webhook", summary="Get a webhook")
def get_webhook(request: HttpRequest, webhook: PublicIdIn) -> WebhookOut:
    return WebhookOut(**_values(_get(request, webhook)))


@router.patch("/webhooks/{webhook}", response=WebhookOut, url_name="api-webhook", summary="Change a webhook")
def update_webhook(request: HttpRequest, webhook: PublicIdIn, body: WebhookChange) -> WebhookOut:
    row = _get(request, webhook)
    registry.change(row, actor=key_of(request).actor, now=timezone.now(), **body.model_dump(exclude_unset=True))
    return WebhookOut(**_values(row))


@router.delete("/webhooks/{webhook}", response={204: None}, url_name="api-webhook", summary="Delete a webhook")
def delete_webhook(request: HttpRequest, webhook: PublicIdIn) -> HttpResponse:
    registry.remove(_get(request, webhook), actor=key_of(request).actor, now=timezone.now())
    return HttpResponse(status=204)


@router.get(
    "/webhooks/{webhook}/deliveries",
    response=Page[DeliveryOut],
    url_name="api-deliveries",
    summary="List a webhook's messages, newest first",
)
def deliveries(request: HttpRequest, webhook: PublicIdIn, cursor: Cursor, limit: Limit) -> Page[DeliveryOut]:
    rows, after = page_of(Delivery.objects.filter(webhook=_get(request, webhook)), cursor, limit)
    return Page(items=[_delivery(row) for row in rows], next=after)


def _of_programs(request: HttpRequest) -> QuerySet[Webhook]:
    """The project's HTTP webhooks. E-mail notices are left out: they are the concern of the members who get them."""
    return Webhook.objects.filter(project=key_of(request).project).exclude(url__startswith=f"{MAIL_SCHEME}:")


def _get(request: HttpRequest, number: str) -> Webhook:
    row = _of_programs(request).filter(pk=row_id_in_path(number)).select_related("project__tenant").first()
    if row is None:
        raise Http404
    return row


def _values(row: Webhook) -> dict[str, Any]:
    names = ("url", "events", "created_by", "created_at", "dropped")
    return {
        "id": PUBLIC_ID.to_url(row.pk),
        "enabled": row.disabled_at is None,
        **{name: getattr(row, name) for name in names},
    }


def _delivery(row: Delivery) -> DeliveryOut:
    names = ("event", "created_at", "attempts", "delivered_at", "status", "error")
    values = {name: getattr(row, name) for name in names}
    return DeliveryOut(id=PUBLIC_ID.to_url(row.pk), next_attempt_at=row.due_at, **values)

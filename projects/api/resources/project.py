"""Endpoints for the project: the key, the memory settings, usage and cost."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, Field, StrictBool, StrictInt

from memorybank import services
from memorybank.services import (
    MAX_IDLE_MINUTES,
    MAX_PERSONAL_TOKENS,
    MAX_RECALL_TOKENS,
    MAX_RETENTION_DAYS,
    MAX_TOKENS,
    MIN_TOKENS,
    Bank,
)
from projects.api.auth import bank_of, key_of
from projects.api.schemas import Body, StorableText
from projects.models import Scope

router = Router(tags=["project"])

Days = Annotated[StrictInt, Field(ge=1, le=MAX_RETENTION_DAYS)]
Money = Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=2, examples=["25.00"])]


class KeyOut(BaseModel):
    """The key of this request."""

    project: str = Field(description="tenant/project", examples=["acme/apollo"])
    name: str
    scopes: list[Scope]
    expires_at: datetime | None
    requests_per_minute: int = Field(description="0: no limit.")


class SettingsOut(BaseModel):
    """The settings of the project's memory."""

    enabled: bool
    max_tokens: int = Field(description="Tokens of the block.")
    recall_tokens: int = Field(description="Tokens of recalled notes.")
    personal_tokens: int = Field(description="Tokens of the part that only the asking person gets.")
    new_chats_private: bool = Field(description="New chats are for their authors only.")
    idle_minutes: int
    timezone: str
    focus: str
    redact_personal: bool
    monthly_cap: Decimal | None
    keep_turns_days: int | None
    keep_memory_days: int | None

    @classmethod
    def of(cls, bank: Bank) -> "SettingsOut":
        return cls(**{name: getattr(bank, name) for name in cls.model_fields})


class SettingsChange(Body):
    """Changes to settings. Omitted fields stay unchanged; null removes a cap or a retention period."""

    max_tokens: StrictInt = Field(2000, ge=MIN_TOKENS, le=MAX_TOKENS)
    recall_tokens: StrictInt = Field(600, ge=0, le=MAX_RECALL_TOKENS)
    personal_tokens: StrictInt = Field(200, ge=0, le=MAX_PERSONAL_TOKENS)
    new_chats_private: StrictBool = False
    idle_minutes: StrictInt = Field(10, ge=1, le=MAX_IDLE_MINUTES)
    timezone: StorableText = Field("UTC", max_length=64, examples=["Europe/Berlin"])
    focus: StorableText = Field("", max_length=1000)
    redact_personal: StrictBool = True
    monthly_cap: Money | None = None
    keep_turns_days: Days | None = None
    keep_memory_days: Days | None = None
    enabled: StrictBool | None = Field(None, description="Needs `disclosure_accepted` the first time it is true.")
    disclosure_accepted: StrictBool = Field(
        False,
        description="You accept for the project that answers use notes from the chats of everybody in it.",
    )
    include_history: StrictBool = Field(False, description="With `enabled`: also include earlier chats.")


class UsageOut(BaseModel):
    """The contents of memory, and its cost."""

    chats: int
    outputs: int
    pending: int
    parked: int
    entries: dict[str, int]
    facts: int
    quarantined: int
    dropped_lines: int = Field(
        description="Lines of a model that were not proved by what they cite, or beyond the words asked for."
    )
    left_out: int = Field(description="Notes that the live digests do not tell, as their model said.")
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_this_month: Decimal = Field(
        description="Cost of memory this month (UTC), in the currency of the price settings."
    )
    monthly_cap: Decimal | None


@router.get("/key", response=KeyOut, url_name="api-key", summary="Get this key")
def key(request: HttpRequest) -> KeyOut:
    api_key = key_of(request)
    scopes = [Scope(scope) for scope in api_key.scopes]
    changes = {
        "name": api_key.name,
        "expires_at": api_key.expires_at,
        "requests_per_minute": settings.API_REQUESTS_PER_MINUTE,
    }
    return KeyOut(project=api_key.project.path, scopes=scopes, **changes)


@router.get("/settings", response=SettingsOut, url_name="api-settings", summary="Get the memory settings")
def get_settings(request: HttpRequest) -> SettingsOut:
    return SettingsOut.of(bank_of(request))


@router.patch(
    "/settings", response=SettingsOut, url_name="api-settings", summary="Change settings, switch memory on or off"
)
def update_settings(request: HttpRequest, body: SettingsChange) -> SettingsOut:
    """Makes all changes, or none if one is refused."""
    bank, actor = bank_of(request), key_of(request).actor
    changes: dict[str, Any] = body.model_dump(exclude_unset=True)
    enabled, accepted = changes.pop("enabled", None), changes.pop("disclosure_accepted", False)
    history = changes.pop("include_history", False)
    with transaction.atomic():
        if changes:
            services.configure(bank, actor=actor, **changes)
        if enabled:
            services.enable(bank, actor=actor, disclosure_accepted=accepted, history=history)
        elif enabled is False:
            services.disable(bank, actor=actor)
    return SettingsOut.of(bank)


@router.get("/usage", response=UsageOut, url_name="api-usage", summary="Get usage and cost")
def usage(request: HttpRequest) -> UsageOut:
    bank = bank_of(request)
    counted = services.statistics(bank)
    counts = {name: getattr(counted, name) for name in counted.__slots__}
    return UsageOut(**counts, cost_this_month=services.cost_this_month(bank), monthly_cap=bank.monthly_cap)

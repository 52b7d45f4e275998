"""The project itself: what this key opens, its memory's settings, what it holds and what it costs."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, Field, StrictBool, StrictInt

from memorybank import services
from memorybank.services import MAX_DAYS, MAX_IDLE_MINUTES, MAX_RECALL_TOKENS, MAX_TOKENS, MIN_TOKENS, Bank

from ..models import Scope
from .auth import bank_of, key_of
from .schemas import Body, Words

router = Router(tags=["project"])

Days = Annotated[StrictInt, Field(ge=1, le=MAX_DAYS)]
Money = Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=2, examples=["25.00"])]


class KeyOut(BaseModel):
    """What the key of this request is."""

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
    idle_minutes: int
    timezone: str
    focus: str
    redact_personal: bool
    monthly_cap: Decimal | None
    keep_turns_days: int | None
    keep_memory_days: int | None

    @classmethod
    def of(cls, bank: Bank) -> "SettingsOut":
        """As they are."""
        return cls(**{name: getattr(bank, name) for name in cls.model_fields})


class SettingsChange(Body):
    """What is left out stays as it is; null takes a cap or a term away."""

    max_tokens: StrictInt = Field(2000, ge=MIN_TOKENS, le=MAX_TOKENS)
    recall_tokens: StrictInt = Field(600, ge=0, le=MAX_RECALL_TOKENS)
    idle_minutes: StrictInt = Field(10, ge=1, le=MAX_IDLE_MINUTES)
    timezone: Words = Field("UTC", max_length=64, examples=["Europe/Berlin"])
    focus: Words = Field("", max_length=1000)
    redact_personal: StrictBool = True
    monthly_cap: Money | None = None
    keep_turns_days: Days | None = None
    keep_memory_days: Days | None = None
    enabled: StrictBool | None = Field(None, description="Needs `disclosure_accepted` the first time it is true.")
    disclosure_accepted: StrictBool = Field(
        False,
        description="That everybody in the project is answered with notes made from everybody else's chats, and that "
        "whoever uses this key accepts it for the project.",
    )
    include_history: StrictBool = Field(False, description="With `enabled`: take in what was said before, too.")


class Usage(BaseModel):
    """What memory holds, and what it took."""

    chats: int
    outputs: int
    pending: int
    parked: int
    entries: dict[str, int]
    facts: int
    quarantined: int
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_this_month: Decimal = Field(description="Of memory, this month (UTC), in the currency of the prices.")
    monthly_cap: Decimal | None


@router.get("/key", response=KeyOut, url_name="api-key", summary="What this key opens")
def key(request: HttpRequest) -> KeyOut:
    own = key_of(request)
    scopes = [Scope(each) for each in own.scopes]
    given = {"name": own.name, "expires_at": own.expires_at, "requests_per_minute": settings.API_REQUESTS_PER_MINUTE}
    return KeyOut(project=own.project.path, scopes=scopes, **given)


@router.get("/settings", response=SettingsOut, url_name="api-settings", summary="The settings of memory")
def look(request: HttpRequest) -> SettingsOut:
    return SettingsOut.of(bank_of(request))


@router.patch("/settings", response=SettingsOut, url_name="api-settings", summary="Change settings, switch memory on")
def change(request: HttpRequest, body: SettingsChange) -> SettingsOut:
    """Nothing is changed if one is refused."""
    bank, actor = bank_of(request), key_of(request).actor
    given: dict[str, Any] = body.model_dump(exclude_unset=True)
    enabled, accepted = given.pop("enabled", None), given.pop("disclosure_accepted", False)
    history = given.pop("include_history", False)
    with transaction.atomic():
        if given:
            services.configure(bank, actor=actor, **given)
        if enabled:
            services.enable(bank, actor=actor, disclosure_accepted=accepted, history=history)
        elif enabled is False:
            services.disable(bank, actor=actor)
    return SettingsOut.of(bank)


@router.get("/usage", response=Usage, url_name="api-usage", summary="What memory holds and costs")
def usage(request: HttpRequest) -> Usage:
    bank = bank_of(request)
    counted = services.statistics(bank)
    held = {name: getattr(counted, name) for name in counted.__slots__}
    return Usage(**held, cost_this_month=services.spent(bank), monthly_cap=bank.monthly_cap)

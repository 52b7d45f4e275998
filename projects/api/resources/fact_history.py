"""The endpoint for the history of a fact: who wrote it, what people did with it, what replaced it."""

from datetime import datetime

from django.http import Http404, HttpRequest
from ninja import Router
from pydantic import BaseModel, Field

from memorybank import services
from memorybank.services import Event, Fact
from projects.api.auth import bank_of
from projects.api.schemas import PUBLIC_ID, PublicIdIn, PublicIdOut, row_id_in_path

from .facts import readable_facts

router = Router(tags=["memory"])


class FactEvent(BaseModel):
    """An event of a fact: `written`, an action of a person such as `edit` or `pin`, or `replaced`."""

    action: str
    by: str = Field(description="A person, a key, or the method that wrote it.")
    at: datetime | None = None
    text: str | None = Field(default=None, description="The text since then, where it is known.")
    fact: PublicIdOut | None = Field(default=None, description="The newer fact that replaced it.")


class FactHistory(BaseModel):
    """The history of a fact, oldest first."""

    events: list[FactEvent]


@router.get("/facts/{fact}/history", response=FactHistory, url_name="api-fact-history", summary="Get a fact's history")
def fact_history(request: HttpRequest, fact: PublicIdIn) -> FactHistory:
    """Who wrote, edited, pinned, hid or released it, and what replaced it. Earlier edits have no text."""
    row = readable_facts(request).filter(pk=row_id_in_path(fact)).first()
    if row is None:
        raise Http404
    events = [_written(row), *_by_people(row, services.events_of_fact(bank_of(request), row.pk))]
    if newer := row.replaced_for_all:
        events.append(FactEvent(action="replaced", by="", fact=PUBLIC_ID.to_url(newer.pk)))
    return FactHistory(events=events)


def _written(row: Fact) -> FactEvent:
    return FactEvent(action="written", by=row.entry.method, at=row.entry.last_at, text=row.original_text)


def _by_people(row: Fact, events: list[Event]) -> list[FactEvent]:
    """Only the last edit has a text, the current one: the texts of earlier edits are not stored."""
    edits = [event.pk for event in events if event.action == Event.Action.EDIT]
    return [
        FactEvent(action=event.action, by=event.actor, at=event.at, text=row.text if event.pk in edits[-1:] else None)
        for event in events
    ]

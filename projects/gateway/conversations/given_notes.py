"""Find the notes that were added to the earlier questions of a conversation. Reads the database.

The same notes are added to the same questions again, so that the provider's prompt cache stays valid. Only references
to sentences are stored, never their text, so sentences that were erased or hidden, or that this person may no longer
read, are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Q

from memorybank.services import Bank, NotePlaces, PreparedQuery
from projects.models import ConversationNode

from ..messages import ParsedRequest
from .locating import TurnLocation, nodes_of

#: The notes of at least this many of the newest questions are kept. Older notes are dropped in batches of this size,
#: because each drop invalidates the provider's prompt cache.
MIN_NOTES_KEPT = 16
#: Limits the database query for a very long chat.
MAX_MESSAGES_WITH_NOTES = 4_000
NOTES_AT = PreparedQuery(
    lambda bank, places: nodes_of(bank, Q(after__in=places)).values_list("after", "notes", "output", "chat__key")
)
NOTES_OF_CHAT = PreparedQuery(
    lambda bank, chat_key: (
        ConversationNode.objects.filter(chat__bank=bank, chat__key=chat_key)
        .exclude(notes=[])
        .order_by("-pk")
        .values_list("notes")[: 2 * MIN_NOTES_KEPT]
    )
)


@dataclass(frozen=True, slots=True)
class RequestNotes:
    """``earlier``: the notes of earlier questions by message position; ``now``: those of this question, or None."""

    earlier: Mapping[int, NotePlaces] = field(default_factory=dict)
    now: NotePlaces | None = None


def find_given_notes(bank: Bank, location: TurnLocation, request: ParsedRequest) -> RequestNotes:
    """Read the notes from the nodes at the places of the conversation's questions."""
    recent = list(zip(location.path.nodes[1:], request.before, strict=True))[-MAX_MESSAGES_WITH_NOTES:]
    positions = {node: message.position for node, message in recent if message.role == "user"}
    own = location.path.question
    if not positions and location.output is None:
        return RequestNotes()
    rows = NOTES_AT.rows(bank.pk, [*positions, own])
    # Identical conversations have identical hashes: prefer the notes of this chat, then those of the newest output.
    found = sorted(rows, key=lambda row: (row[3] == location.chat_key, row[2]))
    places = {after: notes for after, notes, *_ in found}
    now = next((notes for after, notes, output, _ in found if (after, output) == (own, location.output)), None)
    earlier = {position: places[node] for node, position in positions.items() if places.get(node)}
    first = max(0, len(earlier) // MIN_NOTES_KEPT - 1) * MIN_NOTES_KEPT
    return RequestNotes(dict(list(earlier.items())[first:]), now)


def find_notes_of_chat(bank: Bank, location: TurnLocation) -> RequestNotes:
    """The latest notes of a chat whose messages the upstream keeps: they are not given again, nor repeated."""
    rows = NOTES_OF_CHAT.rows(bank.pk, location.chat_key)
    return RequestNotes({number: notes for number, (notes,) in enumerate(rows)})

"""Find the notes that were added to the earlier questions of a conversation. Reads the database.

They are added to the same questions again, so that the provider's prompt cache stays valid. Only the places of
sentences are stored, never words: sentences that were erased or hidden, or that this person may no longer read, are
left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memorybank.services import Bank, GivenNotes
from projects.models import ConversationNode

from ..messages import ParsedRequest
from .locating import TurnLocation

#: The notes of at least this many questions are kept. Older ones are dropped together: each time the cache is lost.
MIN_KEPT = 16
#: Limits the database query for a very long chat.
MAX_MESSAGES = 4_000


@dataclass(frozen=True, slots=True)
class NotesGiven:
    """The notes of earlier questions, by the positions of their messages; and those of this one, if it had any."""

    earlier: Mapping[int, GivenNotes] = field(default_factory=dict)
    now: GivenNotes | None = None


def find_given_notes(bank: Bank, location: TurnLocation, request: ParsedRequest) -> NotesGiven:
    """Read the notes from the nodes at the places of the conversation's questions."""
    told = list(zip(location.path.nodes[1:], request.before, strict=True))[-MAX_MESSAGES:]
    positions = {node: message.position for node, message in told if message.role == "user"}
    own = location.path.question
    if not positions and location.output is None:
        return NotesGiven()
    rows = ConversationNode.objects.filter(after__in=[*positions, own], chat__bank=bank)
    # Equal conversations have equal places: this one's own notes count, else those of the latest.
    found = sorted(
        rows.values_list("after", "notes", "output", "chat__key"),
        key=lambda row: (row[3] == location.chat_key, row[2]),
    )
    places = {after: notes for after, notes, *_ in found}
    now = next((notes for after, notes, output, _ in found if (after, output) == (own, location.output)), None)
    earlier = {position: places[node] for node, position in positions.items() if places.get(node)}
    first = max(0, len(earlier) // MIN_KEPT - 1) * MIN_KEPT
    return NotesGiven(dict(list(earlier.items())[first:]), now)

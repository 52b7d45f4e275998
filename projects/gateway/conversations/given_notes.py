"""Which notes were given beside the questions that a conversation tells again. Asks the database.

They stay where they were given, so that a provider's cache of the prompt holds. Stored are places of sentences, never
words: what was erased, hidden or is no longer for this person is not given again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memorybank.services import Bank, GivenNotes
from projects.models import ConversationNode

from ..messages import ParsedRequest
from .locating import TurnLocation

#: Notes of at least so many latest questions stay. Older ones go together, because each time a prompt is read anew.
MIN_KEPT = 16
#: Limits the database query for a very long chat.
MAX_MESSAGES = 4_000


@dataclass(frozen=True, slots=True)
class NotesGiven:
    """The notes of earlier questions, by the positions of their messages; and those of this one, if it had any."""

    earlier: Mapping[int, GivenNotes] = field(default_factory=dict)
    now: GivenNotes | None = None


def find_given_notes(bank: Bank, location: TurnLocation, request: ParsedRequest) -> NotesGiven:
    """What the nodes of this conversation say, at the places of its questions."""
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

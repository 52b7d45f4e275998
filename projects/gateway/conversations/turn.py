"""A turn of a chat as the gateway has it: who asks what, where in which chat, and the memory that was added."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from memorybank import services
from memorybank.services import Bank, PromptMemory
from projects.models import APIKey
from projects.tenancy import people

from ..messages import ParsedRequest
from ..request_identity import Sender
from .locating import TurnLocation

NO_MEMORY = PromptMemory()


@dataclass(frozen=True, slots=True)
class GatewayTurn:
    """One request of a chat, with the memory added to it.

    ``location`` is None if memory was skipped before the turn was located; ``skipped`` says why there is no memory.
    ``key_in_chat`` is the key of its output, if the turn is new.
    """

    key: APIKey
    sender: Sender
    request: ParsedRequest
    received_at: datetime
    continues_prefill: bool = False
    #: Whether a tool call may be the whole answer, because the client forces one.
    forces_tool: bool = False
    #: The upstream's id of the conversation that it stores, or "".
    conversation: str = ""
    #: The client's own system prompt.
    instructions: str = ""
    location: TurnLocation | None = None
    memory: PromptMemory = NO_MEMORY
    skipped: str = ""
    key_in_chat: str = field(default_factory=lambda: uuid4().hex)

    @property
    def bank(self) -> Bank:
        """The bank of its key's project."""
        return self.key.project.bank

    def readable_chats(self, chats: Collection[int]) -> Collection[int]:
        """The ids among these chats that whoever sends the turn may read."""
        return people.readable_chats(self.key, self.sender.person, chats)

    @property
    def other_text(self) -> str:
        """What the client gives the model itself and no earlier turn of the chat has: memory may be among it."""
        is_known = self.location and self.location.has_known_history
        history = [] if is_known else [message.text for message in self.request.before]
        return services.written_text("\n".join([self.instructions, *history, self.seen]))

    @property
    def seen(self) -> str:
        """The messages of tools since the question, as text."""
        return services.written_text("", self.request.between)

    @property
    def size(self) -> int:
        """The approximate memory, in bytes, that it occupies until it is recorded."""
        messages = [*self.request.before, self.request.question, *self.request.since]
        return sum(len(message.text) for message in messages)

"""The gateway's routes: what the views know of an endpoint, and what a request needs to know."""

from dataclasses import dataclass

from memorybank.services import LLMCall

from .protocols import Protocol


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint of the gateway: its URL name, its path upstream, and its purpose in the ledger.

    ``remembers``: it serves chats, which get memory. ``optional``: only upstreams that list its path get requests.

    ``model`` is the model in the URL, as the client wrote it, and ``object_id`` the id there of what the upstream
    stores. ``has_model``: the body names a model.
    """

    name: str
    path: str
    protocol: Protocol
    purpose: LLMCall.Purpose | None = None
    remembers: bool = False
    optional: bool = False
    method: str = "POST"
    model: str = ""
    object_id: str = ""
    has_model: bool = True

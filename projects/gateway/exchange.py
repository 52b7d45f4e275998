"""One request passing through: sent, read while it comes back, and written down once, however it ends."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from django.utils import timezone

from memorybank import services
from memorybank.exceptions import log_message
from memorybank.services import LLMCall, Output
from projects.web.polling import with_heartbeat

from . import turn_recording
from .db_threads import hop
from .events import Events
from .protocols import Answer
from .requests import Taken

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)
HEARTBEAT = b": still there\n\n"
#: Of silence in a stream, before proxies on the way close it.
HEARTBEAT_SECONDS = 30.0
BROKEN = "The upstream broke off its answer."
Outcome = LLMCall.Outcome
FAILURES = {**dict.fromkeys((401, 403, 404), Outcome.MISCONFIGURED), 429: Outcome.UNAVAILABLE}


class Passage:
    """What becomes of a request that was taken. Its question is recorded while the upstream thinks."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._reader = taken.route.protocol.reader()
        self._begun = asyncio.ensure_future(hop(turn_recording.begin, taken.given.turn)) if taken.given.turn else None
        self._ending: asyncio.Future[None] | None = None

    async def end(self, status: str = Output.Status.OK, failed: str = "", error: str = "") -> None:
        """Write down what became of it; only the first time. Who waits may be cancelled, this goes on."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(status, failed, error))
        await asyncio.shield(self._ending)

    async def gone(self) -> None:
        """The client went away: what was said until then costs all the same."""
        await self.end(Output.Status.CANCELLED)

    async def unreachable(self, error: str) -> None:
        """There is no answer, or no more of it."""
        await self.end(Output.Status.ERROR, Outcome.UNAVAILABLE, error)

    async def whole(self, status: int, content: bytes) -> None:
        """An answer that is no stream."""
        if status < 400:
            self._read(_json(content), whole=True)
            await self.end()
            return
        self._reader.note_error(_json(content))
        failed = FAILURES.get(status, Outcome.UNAVAILABLE if status >= 500 else Outcome.REJECTED)
        await self.end(Output.Status.ERROR, failed, self._reader.error)

    async def stream(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """The events as they come. The last one waits until the turn is written down: the next may follow at once."""
        import httpx2  # takes 0.4 s, which no page needs

        events = Events()
        try:
            async for chunk in with_heartbeat(response.aiter_bytes(), seconds=HEARTBEAT_SECONDS, beat=b""):
                whole, said = events.feed(chunk)
                await self._follow(said)
                if whole or not chunk:
                    yield whole or HEARTBEAT
            if events.rest:
                yield events.rest
            if not self._reader.complete:
                raise httpx2.RemoteProtocolError(BROKEN)
            await self._ended()
        except httpx2.HTTPError as error:
            logger.warning("gateway: a stream broke off: %s", type(error).__name__)
            await self.unreachable(BROKEN)
            yield self._taken.route.protocol.broken(BROKEN)
        except (asyncio.CancelledError, GeneratorExit):
            await self.gone()
            raise
        finally:
            await asyncio.shield(asyncio.ensure_future(response.aclose()))

    async def _follow(self, said: Iterable[dict[str, object]]) -> None:
        for each in said:
            self._read(each)
        if self._reader.done:
            await self._ended()

    async def _ended(self) -> None:
        if self._reader.error:
            await self.unreachable(self._reader.error)
        else:
            await self.end()

    def _read(self, data: dict[str, object], *, whole: bool = False) -> None:
        """A copy is read; what we cannot read passes all the same."""
        try:
            (self._reader.whole if whole else self._reader.event)(data)
        except Exception as error:
            logger.error("gateway: an answer was not understood: %s", log_message(error))

    async def _end(self, status: str, failed: str, error: str) -> None:
        try:
            output = await self._begun if self._begun else None
            answer = self._reader.answer()
            answer.error = error
            await hop(_written_down, self._taken, output, answer, status, failed)
        except Exception as unforeseen:
            logger.error("gateway: not recorded: %s", log_message(unforeseen))
            await hop(turn_recording.count_failure, self._taken.key.project.bank)


def _json(content: bytes) -> dict[str, object]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return {"message": content[:500].decode(errors="replace")}
    return data if isinstance(data, dict) else {}


def _written_down(taken: Taken, output: Output | None, answer: Answer, status: str, failed: str) -> None:
    """The turn, if it is one, and what it cost."""
    turn, route = taken.given.turn, taken.route
    answer.model = answer.model or str(taken.given.body.get("model") or "")
    if route.purpose and not failed:
        _estimate(taken, answer)
    if turn and output:
        turn_recording.end(turn, output, answer, status)
    if route.purpose:
        turn_recording.enter(taken.key.project.bank, route.purpose, answer, taken.at, timezone.now(), failed)


def _estimate(taken: Taken, answer: Answer) -> None:
    """Tokens that the upstream did not tell: it need not, and of a stream that is cancelled it cannot."""
    if answer.prompt_tokens is None:
        answer.prompt_tokens = services.count_tokens(_told(taken))
    if answer.completion_tokens is None:
        calls = [json.dumps(said.kept["tool_calls"]) for said in answer.said if said.calls]
        answer.completion_tokens = services.count_tokens("\n".join([answer.text, *calls]))


def _told(taken: Taken) -> str:
    """The words of a request."""
    protocol, body = taken.route.protocol, taken.given.body
    try:
        return "\n".join([protocol.system(body), *(said.text for said in protocol.said(body))])
    except Exception:  # not a body that we understand; the upstream did
        return taken.content.decode(errors="replace")

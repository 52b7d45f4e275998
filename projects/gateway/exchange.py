"""One request and its answer: the answer is read while it is forwarded, and recorded once, however it ends."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from memorybank.exceptions import log_message
from memorybank.services import LLMCall, Output
from projects.web.polling import with_heartbeat

from . import recording
from .call_recording import Call
from .database.threads import readers
from .events import EventSplitter
from .recording import Recording
from .requests import GatewayRequest
from .upstream import errors

if TYPE_CHECKING:
    import httpx2


logger = logging.getLogger(__name__)
HEARTBEAT_COMMENT = b": still there\n\n"
#: A comment is sent after a stream was silent for this long, because proxies close silent streams.
HEARTBEAT_SECONDS = 30.0
STREAM_BROKEN_MESSAGE = "The upstream broke off its answer."
CallOutcome = LLMCall.Outcome
OUTCOME_BY_STATUS = {**dict.fromkeys((401, 403, 404), CallOutcome.MISCONFIGURED), 429: CallOutcome.UNAVAILABLE}


class Exchange:
    """Handles an accepted request until its answer is recorded; records the question while the upstream works."""

    def __init__(self, request: GatewayRequest) -> None:
        self._request = request
        self._reader = request.route.protocol.reader()
        self._bank = request.key.project.bank
        self._recording = Recording(request.key, request.target.base_url, request.injection.turn)
        self._finishing: asyncio.Future[None] | None = None
        if request.route.remembers and request.injection.turn is None:
            recording.count(self._bank, request.injection.skipped, request.received_at)

    async def memory_headers(self) -> dict[str, str]:
        """The response headers about memory and about the recording of the turn."""
        headers = self._request.injection.headers() if self._request.route.remembers else {}
        return {**headers, **await self._recording.headers()}

    async def finish(self, status: str = Output.Status.OK, failed: str = "", error: str = "") -> None:
        """Record the outcome, once. If the caller is cancelled, recording still completes."""
        if self._finishing is None:
            self._finishing = asyncio.ensure_future(self._record_outcome(status, failed, error))
        await asyncio.shield(self._finishing)

    async def cancel(self) -> None:
        """Record a disconnect of the client: tokens streamed so far are still counted."""
        await self.finish(Output.Status.CANCELLED)

    async def fail(self, error: str) -> None:
        """Record that the upstream gave no answer, or broke it off."""
        await self.finish(Output.Status.ERROR, CallOutcome.UNAVAILABLE, error)

    async def read_body(self, status: int, data: dict[str, object], *, failed: bool) -> None:
        """Read and record an answer that is not streamed, or an error."""
        if not failed:
            self._read(data, whole=True)
            await self.finish()
            return
        self._reader.note_error(data)
        outcome = OUTCOME_BY_STATUS.get(status, CallOutcome.UNAVAILABLE if status >= 500 else CallOutcome.REJECTED)
        await self.finish(Output.Status.ERROR, outcome, self._reader.error)

    async def stream(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """Forward events as they arrive.

        The last event waits briefly until the turn is recorded, because the client's next request may follow at once.
        """
        import httpx2  # takes 0.4 s, and no page needs it

        splitter = EventSplitter()
        try:
            async for chunk in with_heartbeat(response.aiter_bytes(), seconds=HEARTBEAT_SECONDS, beat=b""):
                complete_bytes, events = await self._clean(*splitter.feed(chunk))
                await self._read_events(events)
                if complete_bytes or not chunk:
                    yield complete_bytes or HEARTBEAT_COMMENT
            if splitter.rest:  # an event without the empty line at its end
                complete_bytes, events = await self._clean(*splitter.feed(b"\n\n"))
                await self._read_events(events)
                yield complete_bytes
            if not self._reader.complete and not self._reader.error:
                raise httpx2.RemoteProtocolError(STREAM_BROKEN_MESSAGE)
            await self._finish_stream()
        except httpx2.HTTPError as error:
            logger.warning("gateway: a stream broke off: %s", type(error).__name__)
            await self.fail(self._reader.error or STREAM_BROKEN_MESSAGE)
            if not self._reader.error:  # otherwise the upstream's own error was forwarded
                yield self._request.route.protocol.broken(STREAM_BROKEN_MESSAGE)
        except (asyncio.CancelledError, GeneratorExit):
            await self.cancel()
            raise
        finally:
            await asyncio.shield(asyncio.ensure_future(response.aclose()))

    async def _clean(self, raw: bytes, events: list[dict[str, object]]) -> tuple[bytes, list[dict[str, object]]]:
        """The bytes and events, with an upstream's errors cleaned."""
        if not any(map(errors.holds_error, events)):
            return raw, events
        return await readers.run(errors.clean_events, self._request.sent, raw)

    async def _read_events(self, events: Iterable[dict[str, object]]) -> None:
        for event in events:
            self._read(event)
        self._bind_ids()  # at once: another connection may cancel what is still streamed
        if self._reader.done:
            await self._finish_stream()

    async def _finish_stream(self) -> None:
        if self._reader.error:
            await self.fail(self._reader.error)
        else:
            await self.finish()

    def _read(self, data: dict[str, object], *, whole: bool = False) -> None:
        """Pass data to the reader; data that cannot be parsed is logged, and the client still gets it."""
        try:
            (self._reader.read_body if whole else self._reader.event)(data)
        except Exception as error:
            logger.error("gateway: an answer could not be parsed: %s", log_message(error))

    async def _record_outcome(self, status: str, failed: str, error: str) -> None:
        answer, request = self._reader.answer(), self._request
        answer.error = error
        address, body = request.target.base_url, request.injection.body
        self._bind_ids()
        await self._recording.finish(
            Call(self._bank, request.route, address, body, request.received_at, answer, status, failed)
        )

    def _bind_ids(self) -> None:
        if self._request.creates:
            self._recording.bind(self._reader.ids)


def parse_body(content: bytes) -> dict[str, object]:
    """A body as an object; its beginning as a message if it is no JSON."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return {"message": content[:500].decode(errors="replace")}
    return data if isinstance(data, dict) else {}

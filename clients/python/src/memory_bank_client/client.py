"""The clients: one that waits, and one to await."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Self, TypeVar

import httpx

from . import requests
from .requests import PASSING, Call
from .types import Fact, Filter, Hit, Memory, Metadata, Output, Receipt, Recorded

Result = TypeVar("Result")
#: Seconds before each repetition.
PAUSES = (0.5, 2.0)
MAX_PAUSE = 30.0


class _Client:
    """The common part of both clients: where the project is, and the answer to whether a request is sent again."""

    def __init__(self, address: str, key: str, *, timeout: float = 30.0) -> None:
        self._options: dict[str, Any] = {
            "base_url": f"{address.rstrip('/')}/api/v1/",
            "headers": {"authorization": f"Bearer {key}"},
            "timeout": timeout,
        }

    @staticmethod
    def _request(call: Call[Any]) -> dict[str, Any]:
        wanted = {name: value for name, value in call.parameters.items() if value is not None}
        return {"json": call.body, "params": wanted, "headers": dict(call.headers)}

    @staticmethod
    def _pause(answer: httpx.Response | None, pause: float) -> float:
        """As long as the server asks for, within reason."""
        after = answer.headers.get("retry-after", "") if answer is not None else ""
        return min(float(after), MAX_PAUSE) if after.isdigit() else pause


class MemoryBank(_Client):
    """A project of Memory Bank, by the address of the site and an API key of the project."""

    def __init__(self, address: str, key: str, *, timeout: float = 30.0) -> None:
        super().__init__(address, key, timeout=timeout)
        self._http = httpx.Client(**self._options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def record(
        self,
        *,
        chat: str,
        author: str,
        question: str,
        answer: str = "",
        id: str = "",
        metadata: Metadata | None = None,
        **more: Any,
    ) -> Recorded:
        """Record a turn. ``more`` are further fields of :class:`Output`."""
        return self._send(requests.record(Output(chat, author, question, answer, id, metadata=metadata or {}, **more)))

    def record_many(self, outputs: Sequence[Output]) -> list[Recorded]:
        """Record up to 500 turns, or none if one is refused."""
        return self._send(requests.record_many(outputs))

    def memory(self, question: str, *, chat: str = "", keep: bool = False) -> Memory:
        """The block and the notes for a chat's next message; ``keep`` if a prompt is built from them."""
        return self._send(requests.memory(question, chat, keep=keep))

    def recall(
        self, question: str, *, chat: str = "", top: int = 10, threshold: float = 0, filter: Filter | None = None
    ) -> list[Hit]:
        """Turns and facts that answer a question, best first, without those of ``chat``."""
        return self._send(requests.recall(question, chat=chat, top=top, threshold=threshold, filter=filter))

    def facts(self, **filters: Any) -> Iterator[Fact]:
        """All facts, or those that match the filters of the API."""
        return map(Fact.of, self._pages("facts", filters))

    def outputs(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """The turns that programs recorded."""
        return self._pages("outputs", filters)

    def chats(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """The chats that programs recorded."""
        return self._pages("chats", filters)

    def add_fact(self, text: str, *, kind: str = "fact", pinned: bool = True, metadata: Metadata | None = None) -> Fact:
        """Write a fact by hand."""
        return self._send(requests.add_fact(text, kind=kind, pinned=pinned, metadata=metadata or {}))

    def summarise(self, *, chat: str | None = None) -> dict[str, Any]:
        """Have a chat, or all, summarised now; returns the job."""
        return self._send(requests.summarise(chat))

    def forget(
        self,
        *,
        chat: str | None = None,
        author: str | None = None,
        output: str | None = None,
        facts: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Receipt:
        """Erase one of these with everything derived from it."""
        return self._send(requests.forget(chat=chat, author=author, output=output, facts=facts, dry_run=dry_run))

    def _pages(self, path: str, filters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        parameters = _named(filters)
        while True:
            page = self._send(requests.page(path, parameters))
            yield from page["items"]
            if not (after := page["next"]):
                return
            parameters = {**parameters, "cursor": after}

    def _send(self, call: Call[Result]) -> Result:
        for pause in (*PAUSES, None):
            try:
                answer: httpx.Response | None = self._http.request(call.method, call.path, **self._request(call))
            except httpx.TransportError:
                if pause is None or not call.repeatable:
                    raise
                answer = None
            if answer is not None and (pause is None or not call.repeatable or answer.status_code not in PASSING):
                return call.result(answer)
            time.sleep(self._pause(answer, pause or 0))
        raise AssertionError("the last attempt returns or raises")


class AsyncMemoryBank(_Client):
    """The same to await."""

    def __init__(self, address: str, key: str, *, timeout: float = 30.0) -> None:
        super().__init__(address, key, timeout=timeout)
        self._http = httpx.AsyncClient(**self._options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def record(
        self,
        *,
        chat: str,
        author: str,
        question: str,
        answer: str = "",
        id: str = "",
        metadata: Metadata | None = None,
        **more: Any,
    ) -> Recorded:
        """Record a turn. ``more`` are further fields of :class:`Output`."""
        output = Output(chat, author, question, answer, id, metadata=metadata or {}, **more)
        return await self._send(requests.record(output))

    async def record_many(self, outputs: Sequence[Output]) -> list[Recorded]:
        """Record up to 500 turns, or none if one is refused."""
        return await self._send(requests.record_many(outputs))

    async def memory(self, question: str, *, chat: str = "", keep: bool = False) -> Memory:
        """The block and the notes for a chat's next message; ``keep`` if a prompt is built from them."""
        return await self._send(requests.memory(question, chat, keep=keep))

    async def recall(
        self, question: str, *, chat: str = "", top: int = 10, threshold: float = 0, filter: Filter | None = None
    ) -> list[Hit]:
        """Turns and facts that answer a question, best first, without those of ``chat``."""
        return await self._send(requests.recall(question, chat=chat, top=top, threshold=threshold, filter=filter))

    async def facts(self, **filters: Any) -> AsyncIterator[Fact]:
        """All facts, or those that match the filters of the API."""
        async for item in self._pages("facts", filters):
            yield Fact.of(item)

    def outputs(self, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """The turns that programs recorded."""
        return self._pages("outputs", filters)

    def chats(self, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """The chats that programs recorded."""
        return self._pages("chats", filters)

    async def add_fact(
        self, text: str, *, kind: str = "fact", pinned: bool = True, metadata: Metadata | None = None
    ) -> Fact:
        """Write a fact by hand."""
        return await self._send(requests.add_fact(text, kind=kind, pinned=pinned, metadata=metadata or {}))

    async def summarise(self, *, chat: str | None = None) -> dict[str, Any]:
        """Have a chat, or all, summarised now; returns the job."""
        return await self._send(requests.summarise(chat))

    async def forget(
        self,
        *,
        chat: str | None = None,
        author: str | None = None,
        output: str | None = None,
        facts: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Receipt:
        """Erase one of these with everything derived from it."""
        call = requests.forget(chat=chat, author=author, output=output, facts=facts, dry_run=dry_run)
        return await self._send(call)

    async def _pages(self, path: str, filters: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        parameters = _named(filters)
        while True:
            page = await self._send(requests.page(path, parameters))
            for item in page["items"]:
                yield item
            if not (after := page["next"]):
                return
            parameters = {**parameters, "cursor": after}

    async def _send(self, call: Call[Result]) -> Result:
        for pause in (*PAUSES, None):
            try:
                request = self._http.request(call.method, call.path, **self._request(call))
                answer: httpx.Response | None = await request
            except httpx.TransportError:
                if pause is None or not call.repeatable:
                    raise
                answer = None
            if answer is not None and (pause is None or not call.repeatable or answer.status_code not in PASSING):
                return call.result(answer)
            await asyncio.sleep(self._pause(answer, pause or 0))
        raise AssertionError("the last attempt returns or raises")


def _named(filters: dict[str, Any]) -> dict[str, Any]:
    """The API's names: ``from_`` is ``from``, because Python keeps that word."""
    return {name.rstrip("_"): value for name, value in filters.items()}

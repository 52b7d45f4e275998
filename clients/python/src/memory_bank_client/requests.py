"""Requests and answers as plain values: shared by the synchronous and the asynchronous client."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import uuid4

import httpx

from .errors import MemoryBankError
from .types import Fact, Filter, Hit, Memory, Metadata, Output, Receipt, Recorded

Result = TypeVar("Result")

#: Answers after which a request may be sent again.
PASSING = (429, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """A request, and how its answer is read. A ``repeatable`` one may be sent twice without harm."""

    method: str
    path: str
    read: Callable[[Any], Result]
    body: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True

    def result(self, answer: httpx.Response) -> Result:
        """The server's answer. Raises :class:`MemoryBankError` if it refuses."""
        if answer.is_success:
            return self.read(answer.json())
        try:
            problem = answer.json()
        except ValueError:
            problem = None
        problem = problem if isinstance(problem, dict) else {}
        detail = str(problem.get("detail") or answer.reason_phrase)
        raise MemoryBankError(answer.status_code, detail, problem.get("errors") or ())


def record(output: Output) -> Call[Recorded]:
    return Call("POST", "outputs", Recorded.of, output.body(), headers={"Idempotency-Key": uuid4().hex})


def record_many(outputs: Sequence[Output]) -> Call[list[Recorded]]:
    def read(data: Any) -> list[Recorded]:
        return [Recorded.of(item) for item in data["outputs"]]

    body = {"outputs": [output.body() for output in outputs]}
    return Call("POST", "outputs/batch", read, body, headers={"Idempotency-Key": uuid4().hex})


def memory(question: str, chat: str, *, keep: bool) -> Call[Memory]:
    return Call("POST", "memory", Memory.of, {"question": question, "chat": chat, "keep": keep})


def recall(question: str, *, chat: str, top: int, threshold: float, filter: Filter | None) -> Call[list[Hit]]:
    def read(data: Any) -> list[Hit]:
        return [Hit.of(item) for item in data["hits"]]

    body = {"question": question, "chat": chat, "top": top, "threshold": threshold, "filter": dict(filter or {})}
    return Call("POST", "recall", read, body)


def page(path: str, parameters: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call("GET", path, dict, parameters=parameters)


def add_fact(text: str, *, kind: str, pinned: bool, metadata: Metadata) -> Call[Fact]:
    body = {"text": text, "kind": kind, "pinned": pinned, "metadata": dict(metadata)}
    return Call("POST", "facts", Fact.of, body, repeatable=False)


def summarise(chat: str | None) -> Call[dict[str, Any]]:
    return Call("POST", "summarise", dict, {} if chat is None else {"chat": chat})


def forget(
    *, chat: str | None, author: str | None, output: str | None, facts: Sequence[str] | None, dry_run: bool
) -> Call[Receipt]:
    named = {"chat": chat, "author": author, "output": output, "facts": list(facts) if facts else None}
    body = {name: value for name, value in named.items() if value is not None}
    return Call("POST", "forget", Receipt.of, {**body, "dry_run": dry_run}, repeatable=dry_run)

"""A trace goes from a request by a task's message to the worker and its model calls, and tells no word of people."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core.handlers.asgi import ASGIHandler
from django.utils import timezone
from kombu import Connection
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from config.celery import app
from config.middleware.tracing import Tracing
from memorybank import services, tasks
from memorybank.exceptions import LLMUnavailable
from memorybank.llm import tracing
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Chat
from tests.support.factories import make_bank
from tests.support.gateway_site import free_port, gateway
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import wait_until
from tests.support.requirements import only_in_ci
from tests.support.traced import spans as spans_in

from .test_proxy import listens

pytestmark = pytest.mark.filterwarnings("ignore:No directory at")

CANARY = "quokka4711"
TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@cache
def sdk() -> TracerProvider:
    """The SDK, configured as an operator does: once per process, whatever the order of the tests."""
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    return provider


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    sdk().add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()  # what later tests do is not kept


def named(spans: Sequence[ReadableSpan]) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans}


def trace_id(span: ReadableSpan) -> str:
    return f"{span.get_span_context().trace_id:032x}"


def get(path: str, **headers: str) -> None:
    """Request a page as the server does."""

    async def ask() -> None:
        scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path, "query_string": b""}
        sent = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
        asking = ApplicationCommunicator(Tracing(ASGIHandler()), {**scope, "headers": sent})
        await asking.send_input({"type": "http.request", "body": b""})
        while (await asking.receive_output(30)).get("more_body", True):
            pass
        await asking.wait(30)

    async_to_sync(ask)()


def test_a_request_is_a_span_of_its_sender_s_trace_named_by_its_route(exported: InMemorySpanExporter) -> None:
    get("/healthz", traceparent=TRACEPARENT)
    span = named(exported.get_finished_spans())["GET /healthz"]
    assert (trace_id(span), span.kind) == (TRACE, trace.SpanKind.SERVER)
    assert dict(span.attributes or {}) == {"http.route": "/healthz", "http.response.status_code": 200}


def test_an_address_without_a_route_is_not_told(exported: InMemorySpanExporter) -> None:
    get(f"/{CANARY}")
    assert CANARY not in "".join(span.to_json() for span in exported.get_finished_spans())


def test_the_message_of_a_task_carries_the_trace_of_what_sent_it(exported: InMemorySpanExporter) -> None:
    with Connection("memory://") as connection, tracing.span("sender") as sender:
        app.send_task("memorybank.tasks.sweep", connection=connection, queue="traced")
        message = connection.default_channel.basic_get("traced", no_ack=True)
        context = sender.get_span_context()
    assert message.headers["traceparent"].startswith(f"00-{context.trace_id:032x}-{context.span_id:016x}-")


@pytest.mark.django_db
def test_the_worker_and_its_model_calls_go_on_with_it(exported: InMemorySpanExporter, model: ScriptedLLM) -> None:
    bank = make_bank()
    before = timezone.now() - timedelta(days=1)
    services.record(bank, chat_key=CANARY, author=CANARY, question=f"We decided on {CANARY}.", created_at=before)
    tasks.work.apply(headers={"traceparent": TRACEPARENT})
    spans = named(exported.get_finished_spans())
    work, chat, call = (spans[name] for name in ("memorybank.tasks.work", "summarise", f"summary {model.model}"))
    assert work.parent and f"{work.parent.span_id:016x}" in TRACEPARENT
    assert {trace_id(span) for span in (work, chat, call)} == {TRACE}
    assert call.parent and call.parent.span_id == chat.get_span_context().span_id
    assert dict(chat.attributes or {}) == {"chat": Chat.objects.get().pk}
    assert call.attributes and call.attributes["gen_ai.usage.input_tokens"]
    assert CANARY not in "".join(span.to_json() for span in exported.get_finished_spans())


@pytest.mark.django_db
def test_a_failed_call_is_an_error_without_the_provider_s_words(
    exported: InMemorySpanExporter, model: ScriptedLLM
) -> None:
    model.enqueue(LLMUnavailable(f"no answer about {CANARY}"))
    before = timezone.now() - timedelta(days=1)
    services.record(make_bank(), chat_key="c", author="Ann", question="We decided on pears.", created_at=before)
    tasks.work.apply()
    call = named(exported.get_finished_spans())[f"summary {model.model}"]
    assert (call.status.status_code, call.status.description) == (trace.StatusCode.ERROR, "LLMUnavailable")
    assert CANARY not in call.to_json()


@only_in_ci
@pytest.mark.long
@pytest.mark.own_servers
def test_one_trace_goes_from_a_client_s_request_by_the_broker_to_the_worker_s_model_call(tmp_path: Path) -> None:
    """A web server and a worker as processes, both with the SDK: each span is the child of what caused it."""
    file, port = tmp_path / "spans", free_port()
    with OpenAIServer() as model, gateway(tmp_path, SUMMARY_LLM_BASE_URL=model.base_url, SUMMARY_LLM_MODEL="m") as made:

        def start(*command: object) -> None:
            made.site.start("-m", "tests.support.traced", file, *command)

        def spans_of(name: str) -> list[dict[str, Any]]:
            return [span for span in spans_in(file).values() if span["name"] == name]

        start("uvicorn", "config.asgi:application", "--port", port, "--log-level", "warning")
        start("celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", 1, "--loglevel", "WARNING")
        address = f"http://127.0.0.1:{port}"
        wait_until(lambda: listens(port), "served", made.site)
        turn = {"chat": CANARY, "author": CANARY, "question": f"We decided on {CANARY}.", "answer": "Noted."}
        assert made.post(f"{address}/api/v1/outputs", turn)[0] == 201
        status, _, body = made.post(f"{address}/api/v1/summarise", {}, traceparent=TRACEPARENT)
        assert status == 202, body
        wait_until(lambda: spans_of("memorybank.tasks.work"), "at work", made.site)

        known, [call] = spans_in(file), spans_of("summary m")
        path = [call]
        while path[-1]["parent_id"] in known:
            path.append(known[path[-1]["parent_id"]])
    names = ["summary m", "summarise", "memorybank.tasks.work", "POST /api/v1/summarise"]
    assert [span["name"] for span in path] == names
    assert {span["context"]["trace_id"] for span in path} == {f"0x{TRACE}"}
    assert path[-1]["parent_id"].removeprefix("0x") in TRACEPARENT
    assert CANARY not in file.read_text()

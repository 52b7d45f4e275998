"""No refusal of the API or of MCP repeats anything that was sent."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from django.db import transaction
from django.test import override_settings

from memorybank.models import Entry, Fact, Output
from memorybank.services import PublicId
from projects.api.openapi import openapi_document
from projects.api.urls import api
from projects.models import Scope
from projects.models.key import PERSON_HEADER
from tests.projects.mcp.test_mcp import MCPCase
from tests.support.api_client import ProgramCase
from tests.support.requirements import IS_CI, some

SENT, NUMBER = "grimsvale_4711", 3_141_592_653
OPERATOR_KEY = "operator-key-of-thirty-two-characters"
#: What stands in a field: a text, also where a list or an object is expected, and with a name of its own.
VALUES: tuple[Any, ...] = (
    SENT,
    SENT * 10_000,
    f"{SENT}\x00",
    NUMBER,
    -NUMBER,
    [SENT],
    {SENT: 1},
    [{"role": SENT, "content": {SENT: [SENT]}}],
)


@override_settings(OPERATOR_API_KEY=OPERATOR_KEY, API_REQUESTS_PER_MINUTE=0)
class RefusalsOfTheAPITest(ProgramCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", "The launch is on 17 May 2026 in Bremen.")
        rows = {"output": Output.objects.get(), "fact": Fact.objects.latest("pk"), "entry": Entry.objects.latest("pk")}
        cls.names = {name: PublicId().to_url(row.pk) for name, row in rows.items()}
        cls.names |= {"chat": "told", "tenant": "acme", "project": "apollo", "username": "bob"}
        cls.key = cls.issue(cls.apollo, list(Scope))

    def requests(self) -> Iterator[tuple[str, str, Any]]:
        """Requests with something wrong in one place: a value, a name, or the address."""
        document: Any = openapi_document(api)
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                address = path
                for name, value in self.names.items():
                    address = address.replace(f"{{{name}}}", value)
                yield method, path.replace("{", "").replace("}", SENT), None
                yield method, f"{address}?{SENT}={SENT}", None
                queries = [item["name"] for item in operation.get("parameters", ()) if item["in"] == "query"]
                for name in queries:
                    for value in (SENT, f"{SENT}\x00", SENT * 500, str(-NUMBER)):
                        yield method, f"{address}?{name}={quote(value)}", None
                if "requestBody" in operation:
                    [content] = operation["requestBody"]["content"].values()
                    for body in self.bodies(document, content["schema"]):
                        yield method, address, body

    def bodies(self, document: Any, schema: Any) -> Iterator[Any]:
        schema = _resolved(document, schema)
        yield from (SENT, [SENT], {SENT: SENT}, f'{{"{SENT}": {SENT}'.encode(), f'"{SENT}\xff"'.encode("latin-1"))
        base = _example(document, schema)
        yield {**base, SENT: SENT}
        for name, part in schema.get("properties", {}).items():
            for value in VALUES:
                yield {**base, name: value}
            inner = _resolved(document, _resolved(document, part).get("items", {}))
            if inner.get("properties"):
                for body in self.bodies(document, inner):
                    if not isinstance(body, bytes):
                        yield {**base, name: [body]}

    def test_no_refusal_repeats_what_was_sent(self) -> None:
        statuses: dict[int, int] = {}
        repeated = []
        for method, path, body in some(self.requests(), one_in=7):
            key = OPERATOR_KEY if "/tenants" in path else self.key
            with transaction.atomic():
                answer = self.call(method.upper(), path, body, key=key)
                transaction.set_rollback(True)
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            if answer.status_code < 400:
                continue
            page = answer.content.decode()
            if SENT in page or str(NUMBER) in page:
                repeated.append((method, path, str(body)[:200], page[:300]))
        self.assertEqual(repeated, [])
        self.assertGreater(statuses[422], 500 if IS_CI else 70)

    def test_nor_what_stood_in_a_header(self) -> None:
        for headers in (
            {"Idempotency-Key": SENT * 50},
            {PERSON_HEADER: SENT},
            {"Authorization": f"Bearer {SENT}"},
            {"Content-Type": f"text/{SENT}"},
        ):
            answer = self.call("POST", "outputs", self.output(chat=""), headers=headers)
            self.assertGreaterEqual(answer.status_code, 400)
            self.assertNotIn(SENT, answer.content.decode())


class RefusalsOfMCPTest(MCPCase):
    def test_no_refusal_repeats_what_was_sent(self) -> None:
        key = self.key(scopes=("read", "write"))
        for method, params in (
            (SENT, {}),
            ("tools/call", {"name": SENT}),
            ("tools/call", {"name": {SENT: SENT}}),
            ("tools/call", {"name": "recall", "arguments": SENT}),
            *(("tools/call", {"name": "recall", "arguments": {"question": value}}) for value in VALUES[1:]),
            *(("tools/call", {"name": "recall", "arguments": {"question": "x", "top": value}}) for value in VALUES),
            ("tools/call", {"name": "recall", "arguments": {"question": "x", SENT: SENT}}),
            ("tools/call", {"name": "remember", "arguments": {"text": "x", "private": SENT}}),
            ("resources/read", {"uri": f"file:///{SENT}"}),
            ("resources/read", {"uri": SENT}),
            ("initialize", {"protocolVersion": SENT}),
            ("tools/list", {"cursor": [SENT]}),
        ):
            with self.subTest(method=method, params=str(params)[:100]):
                self.assertNotIn(SENT, self.post(key, method, params).content.decode())

    def test_nor_of_what_is_no_message(self) -> None:
        headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {self.key()}"}
        for body in (
            SENT,
            f'"{SENT}"',
            f'{{"{SENT}": 1}}',
            f'{{"jsonrpc": "{SENT}"}}',
            f'[{{"{SENT}": 1}}]',
            f'{{"jsonrpc": "2.0", "id": 1, "method": ["{SENT}"]}}',
        ):
            for extra in ({}, {"MCP-Protocol-Version": SENT}, {"MCP-Session-Id": SENT}, {"Accept": SENT}):
                answer = self.client.post("/mcp", body, "application/json", headers=headers | extra)
                with self.subTest(body=body, extra=extra, page=answer.content):
                    self.assertGreaterEqual(answer.status_code, 400)
                    self.assertNotIn(SENT, answer.content.decode())


def _resolved(document: Any, schema: Any) -> Any:
    if "$ref" in schema:
        return _resolved(document, document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    inner = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    return _resolved(document, inner[0]) if inner else schema


def _example(document: Any, schema: Any) -> Any:
    """A valid value, as far as the schema says."""
    schema = _resolved(document, schema)
    if "properties" in schema:
        return {name: _example(document, schema["properties"][name]) for name in schema.get("required", ())}
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("type") == "array":
        return [_example(document, schema["items"])]
    return {"integer": 1, "boolean": True, "object": {}}.get(schema.get("type"), "x")

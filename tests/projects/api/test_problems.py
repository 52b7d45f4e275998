"""API errors: problem documents that name the field, repeat no input, and say what to do."""

import json
from typing import Any

from django.test import override_settings

from memorybank import services
from memorybank.models import Chat, Job, Output
from tests.support.api_client import ProgramCase
from tests.support.cast import NOON

SECRET = "Grimsvale"
#: Row numbers that no answer contains by chance: of another project, and of nobody.
OTHER_ROW, NO_ROW = 987_654_321, 876_543_210


class ProblemTest(ProgramCase):
    def assert_problem(self, answer: Any, status: int, field: str = "", **headers: str) -> None:
        self.assertEqual((answer.status_code, answer["Content-Type"]), (status, "application/problem+json"))
        data = answer.json()
        self.assertEqual(data["status"], status)
        self.assertNotIn(SECRET, answer.content.decode())
        self.assertTrue(answer["X-Request-ID"])
        if field:
            self.assertIn(field, [item.get("pointer", item.get("parameter")) for item in data["errors"]])
        for name, value in headers.items():
            self.assertEqual(answer[name.replace("_", "-")], value)

    def test_a_field_that_is_wrong_is_named(self) -> None:
        for field, change in {
            "/chat": {"chat": ""},
            "/author": {"author": "a" * 201},
            "/question": {"question": None},
            "/status": {"status": SECRET},
            "/created_at": {"created_at": "2026-03-02T12:00:00"},
            "/messages/0/content": {"messages": [{"role": "user", "content": 1}]},
            "/id": {"id": "\x00"},
            "/answer": {"answer": "a" * 1_000_001},
        }.items():
            with self.subTest(field=field):
                self.assert_problem(self.call("POST", "outputs", {**self.output(SECRET), **change}), 422, field)
        self.assertFalse(Output.objects.exists())

    def test_a_time_in_the_future_is_named_by_the_service(self) -> None:
        self.assert_problem(
            self.call("POST", "outputs", self.output(created_at="2999-01-01T00:00:00Z")), 422, "/created_at"
        )

    def test_a_parameter_that_is_wrong_is_named(self) -> None:
        for name, value in {"limit": 0, "private": "maybe", "cursor": "x"}.items():
            self.assert_problem(self.call("GET", f"chats?{name}={value}"), 422, name)
        self.assert_problem(self.call("GET", "facts?from=yesterday"), 422, "from")
        self.assert_problem(self.call("GET", "facts?about=%00"), 422, "about")

    def test_a_body_that_is_no_json_is_told_from_one_that_is_of_another_kind(self) -> None:
        for body in (b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000, b"1" * 5_000):
            with self.subTest(body=body[:9]):
                self.assert_problem(self.call("POST", "outputs", body), 400)
        for body in (b"", b"[]", b"null", b'"x"'):
            self.assert_problem(self.call("POST", "outputs", body), 422)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            self.assert_problem(self.call("POST", "outputs", b"{}", content_type=kind), 415)

    def test_text_that_no_database_holds_is_refused_or_mended(self) -> None:
        self.assert_problem(self.call("POST", "outputs", self.output(chat="\ud800")), 422, "/chat")
        self.assert_problem(self.call("POST", "outputs", self.output(question="\ud800")), 422, "/question")
        self.assertEqual(self.call("GET", "chats/~AA").status_code, 404)

    @override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1_000)
    def test_a_body_has_a_size(self) -> None:
        self.assert_problem(self.call("POST", "outputs", self.output("a" * 1_000)), 413)

    def test_a_batch_has_a_length(self) -> None:
        for many in (0, 501):
            self.assert_problem(
                self.call("POST", "outputs/batch", {"outputs": [self.output()] * many}), 422, "/outputs"
            )

    def test_what_is_not_there_and_what_cannot_be_done_there(self) -> None:
        for path in ("", "nothing", "chats/", "chats/none", "facts/x", "facts/aaaaaaaaaaaaa", "jobs/%00", "chats/a~b"):
            self.assert_problem(self.call("GET", path), 404)
        self.assert_problem(self.call("DELETE", "chats"), 405, Allow="GET")

    def test_a_refusal_contains_no_row_number_and_is_the_same_for_rows_of_others_and_of_nobody(self) -> None:
        chat = Chat.objects.create(bank=self.zeus.bank, key="c-9")
        Output.objects.create(pk=OTHER_ROW, chat=chat, sequence=1, author="zoe", created_at=NOON)
        Job.objects.create(pk=OTHER_ROW, bank=self.zeus.bank, asked_at=NOON)
        self.switch_on(self.zeus)
        fact = services.add_fact(self.zeus.bank, text="The winch is in Bremen.", actor="zoe").pk
        refused: dict[int, list[tuple[int, bytes]]] = {}
        for row, fact_row in ((OTHER_ROW, fact), (NO_ROW, NO_ROW)):
            number, fact_number = services.public_id(row), services.public_id(fact_row)
            for method, path, body in (
                ("GET", f"jobs/{number}", None),
                ("POST", "forget", {"output": number}),
                ("GET", f"facts/{fact_number}", None),
                ("PATCH", f"facts/{fact_number}", {"pinned": True}),
                ("POST", "forget", {"facts": [fact_number]}),
            ):
                answer = self.call(method, path, body)
                self.assert_problem(answer, 422 if method == "POST" else 404)
                self.assertNotIn(str(row), answer.content.decode())
                content = answer.content.replace(number.encode(), b"").replace(fact_number.encode(), b"")
                refused.setdefault(row, []).append((answer.status_code, content))
        self.assertEqual(refused[OTHER_ROW], refused[NO_ROW])

    def test_a_key_that_is_none_and_one_that_asks_too_often(self) -> None:
        self.assert_problem(self.call("GET", "chats", key="mb_none"), 401, WWW_Authenticate="Bearer")
        with override_settings(API_REQUESTS_PER_MINUTE=1):
            answers = [self.call("GET", "chats", key=self.issue(self.apollo)) for _ in range(2)]
            self.assertEqual([item.status_code for item in answers], [200, 200])
            key = self.issue(self.apollo)
            refused = [item for _ in range(3) if (item := self.call("GET", "chats", key=key)).status_code == 429]
            self.assert_problem(refused[0], 429)  # of three in a row, at least two fall into the same minute
            self.assertLessEqual(1, int(refused[0]["Retry-After"]))

    def test_the_key_is_taken_from_the_header_of_anthropics_clients_too(self) -> None:
        answer = self.client.get("/api/v1/key", headers={"x-api-key": self.key})
        self.assertEqual(answer.json()["project"], "acme/apollo")

    def test_a_fault_of_ours_tells_nothing_but_where_the_log_has_it(self) -> None:
        with override_settings(LLM_CONTEXT_TOKENS=SECRET), self.assertLogs("projects.api", "ERROR") as logged:
            self.ask("POST", "outputs", self.output(SECRET), status=201)
            self.assert_problem(self.call("POST", "chats/c-1/compaction", {}), 500)
        self.assertNotIn("Postgres", str(logged.output))

    def test_it_is_said_in_english_whatever_a_browser_prefers(self) -> None:
        answers = [
            self.call("PATCH", "settings", {"monthly_cap": -1}, headers={"Accept-Language": language}).json()["detail"]
            for language in ("de", "en")
        ]
        self.assertEqual(answers[0], answers[1])

    def test_the_description_is_open_and_says_what_every_address_needs(self) -> None:
        answer = self.client.get("/api/v1/openapi.json")
        document = answer.json()
        self.assertEqual((answer.status_code, document["openapi"][:4]), (200, "3.1."))
        for methods in document["paths"].values():
            for operation in methods.values():
                self.assertRegex(operation["description"], "Scope: `|operator's key")
                self.assertIn("401", operation["responses"])
        self.assertNotIn("mb_live", json.dumps(document))

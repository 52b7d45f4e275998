"""Filters of lists and recall, metadata, authors, a fact's history, DELETE and export, as a program uses them."""

import json
from datetime import datetime
from typing import Any

from memorybank import services
from memorybank.models import Chat, Event, Output
from tests.support.api_client import ProgramCase
from tests.support.cast import NOON


class FilterCase(ProgramCase):
    """Ann and Ben each said something about Postgres, in two chats of two days, with a ticket each."""

    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        turns = (
            ("c-1", "ann", "We decided on Postgres 16 for billing on 2 March 2026.", "2026-03-02T12:00:00Z", "T-1"),
            ("c-2", "ben", "Postgres 16 needs 64 GB of memory in Grimsvale.", "2026-03-05T12:00:00Z", "T-2"),
        )
        for chat, author, text, time, ticket in turns:
            said = {"author": author, "question": text, "answer": "Noted.", "created_at": datetime.fromisoformat(time)}
            services.record(cls.apollo.bank, chat_key=chat, metadata={"ticket": ticket, "n": 1}, **said)
        services.run(bank=cls.apollo.bank, until_idle=True)

    def items(self, path: str) -> list[Any]:
        items: list[Any] = self.ask("GET", path)["items"]
        return items

    def hits(self, **more: Any) -> list[Any]:
        hits: list[Any] = self.ask("POST", "recall", {"question": "Postgres 16", **more})["hits"]
        return hits


class ListTest(FilterCase):
    def test_lists_are_filtered_by_author_chat_day_and_metadata(self) -> None:
        days = ("from=2026-03-05", "from=2026-03-04&to=2026-03-05")
        for query in ("author=ben", "chat=c-2", *days, *self.labels("T-2")):
            with self.subTest(query=query):
                self.assertEqual({item["author"] for item in self.items(f"outputs?{query}")}, {"ben"})
                self.assertEqual(
                    {cited["author"] for fact in self.items(f"facts?{query}") for cited in fact["citations"]}, {"ben"}
                )
        for query in ("author=ann", "to=2026-03-02", *self.labels("T-1")):
            with self.subTest(query=query):
                self.assertEqual([chat["key"] for chat in self.items(f"chats?{query}")], ["c-1"])
        self.assertEqual({entry["chat"] for entry in self.items("entries?chat=c-1")}, {"c-1"})
        self.assertEqual(self.items("outputs?author=carl"), [])

    def labels(self, ticket: str) -> list[str]:
        return [f'metadata={{"ticket":"{ticket}"}}', f'metadata={{"n":1,"ticket":"{ticket}"}}']

    def test_a_value_of_another_type_or_name_is_another_value(self) -> None:
        self.assertEqual(len(self.items('outputs?metadata={"n":1}')), 2)
        for labels in ('{"n":"1"}', '{"n":2}', '{"ticket__startswith":"T"}', '{"ticket":"T"}', '{"absent":null}'):
            with self.subTest(labels=labels):
                self.assertEqual(self.items(f"outputs?metadata={labels}"), [])

    def test_metadata_that_is_none_is_refused(self) -> None:
        for labels in ("x", "[]", '{"a":[1]}', '{"":1}'):
            with self.subTest(labels=labels):
                refused = self.ask("GET", f"outputs?metadata={labels}", status=422)
                self.assertEqual(refused["errors"][0]["parameter"], "metadata")

    def test_an_unknown_parameter_is_refused_and_not_ignored(self) -> None:
        for path in ("facts?kinds=decision", "chats?autor=ann", "outputs?user_id=ann", "usage?x=1", "block?question=x"):
            with self.subTest(path=path):
                refused = self.ask("GET", path, status=422)
                self.assertIn("1 unknown parameter; ", refused["detail"])
        self.assertEqual(self.call("GET", "facts?kinds=x", key="mb_wrong").status_code, 401)

    def test_one_output_is_read_by_its_number(self) -> None:
        [output] = self.items("outputs?author=ann")
        self.assertEqual(self.ask("GET", f"outputs/{output['id']}"), output)
        self.assertEqual((output["chat"], output["metadata"]), ("c-1", {"ticket": "T-1", "n": 1}))
        self.assertEqual(self.call("GET", f"outputs/{output['id']}", key=self.other_key).status_code, 404)

    def test_authors_are_listed_with_their_turns_also_page_by_page(self) -> None:
        self.ask("POST", "outputs", self.output(chat="c-3"), status=201)
        services.opt_out(self.apollo.bank, author="ben", actor="alice")
        first = self.ask("GET", "authors?limit=1")
        [ann], [bob] = first["items"], self.items(f"authors?cursor={first['next']}")
        self.assertEqual((ann["author"], ann["turns"], ann["opted_out"]), ("ann", 2, False))
        self.assertEqual((bob["author"], bob["last_at"], bob["opted_out"]), ("ben", "2026-03-05T12:00:00Z", True))

    def test_who_only_wrote_in_a_members_private_chat_is_not_listed(self) -> None:
        chat = self.begin_chat(self.alice, self.apollo)
        record = {"chat_key": chat.key, "author": "secret", "question": "Mine.", "now": NOON, "created_at": NOON}
        services.record(self.apollo.bank, **record)
        services.set_audience(self.apollo.bank, chat_key=chat.key, readers=["alice"], actor="alice")
        self.assertNotIn("secret", [item["author"] for item in self.items("authors")])


class RecallTest(FilterCase):
    def test_only_turns_that_match_are_found_with_the_facts_that_cite_them(self) -> None:
        day = {"from": "2026-03-05", "to": "2026-03-05"}
        self.assertEqual({hit["chat"] for hit in self.hits()}, {"c-1", "c-2"})
        for wanted in ({"author": "ben"}, {"chat": "c-2"}, day, {"metadata": {"ticket": "T-2"}}):
            with self.subTest(filter=wanted):
                self.assertEqual({hit["chat"] for hit in self.hits(filter=wanted)}, {"c-2"})
        self.assertEqual(self.hits(filter={"author": "carl"}), [])

    def test_kinds_and_a_threshold_leave_hits_out(self) -> None:
        self.assertEqual({hit["kind"] for hit in self.hits(filter={"kinds": ["output"]})}, {"output"})
        decisions = self.hits(filter={"kinds": ["decision"]})
        self.assertEqual([hit["chat"] for hit in decisions], ["c-1"])
        best = max(hit["score"] for hit in self.hits())
        self.assertEqual({hit["score"] for hit in self.hits(threshold=best)}, {best})
        self.assertEqual(self.hits(threshold=best + 1), [])

    def test_a_misspelt_filter_is_refused(self) -> None:
        for body in ({"filter": {"user": "ben"}}, {"filters": {}}, {"filter": {"kinds": ["memory"]}}):
            self.ask("POST", "recall", {"question": "Postgres", **body}, status=422)


class MetadataTest(ProgramCase):
    def test_it_is_small_and_flat(self) -> None:
        many: Any = {f"k{number}": 1 for number in range(17)}
        for bad in (many, {"k": "x" * 501}, {"k" * 65: 1}, {"k": {}}, {"": 1}, {"k": "\x00"}):
            with self.subTest(bad=str(bad)[:40]):
                self.ask("POST", "outputs", self.output(metadata=bad), status=422)
        good = {"text": "x", "flag": True, "none": None, "number": 1.5}
        self.ask("POST", "outputs", self.output(metadata=good), status=201)
        self.assertEqual(self.ask("GET", "outputs")["items"][0]["metadata"], good)

    def test_no_model_reads_it_and_it_is_erased_with_its_turn(self) -> None:
        self.switch_on(self.apollo)
        self.ask("POST", "outputs", self.output(metadata={"ticket": "Xyzzy-17"}), status=201)
        services.run(bank=self.apollo.bank, until_idle=True)
        block = services.prompt_memory(self.apollo.bank, chat_key="c-9", question="Postgres?")
        self.assertNotIn("Xyzzy", block.block.text + block.recalled.text)
        [output] = self.ask("GET", "outputs")["items"]
        self.assertEqual(self.ask("DELETE", f"outputs/{output['id']}")["counts"]["turns"], 1)
        self.assertFalse(Output.objects.exists())

    def test_a_fact_written_by_hand_has_that_of_its_turn(self) -> None:
        self.switch_on(self.apollo)
        body = {"text": "Invoices go out on Fridays.", "metadata": {"source": "handbook"}}
        fact = self.ask("POST", "facts", body, status=201)
        self.assertEqual(fact["citations"][0]["metadata"], {"source": "handbook"})
        items = self.ask("GET", 'facts?metadata={"source":"handbook"}')["items"]
        self.assertEqual([item["id"] for item in items], [fact["id"]])


class DeletionTest(FilterCase):
    def test_delete_is_forget_for_a_chat_an_output_and_a_fact(self) -> None:
        [output] = self.items("outputs?author=ben")
        [fact, *_] = self.items("facts?author=ann")
        self.assertEqual(self.ask("DELETE", f"outputs/{output['id']}")["kind"], "output")
        self.assertEqual(self.ask("DELETE", f"facts/{fact['id']}")["kind"], "line")
        self.assertFalse(Output.objects.exists())
        self.ask("POST", "outputs", self.output(chat="c-5"), status=201)
        self.assertEqual(self.ask("DELETE", "chats/c-5")["kind"], "chat")
        self.assertFalse(Chat.objects.filter(key="c-5").exists())
        for path in (f"outputs/{output['id']}", f"facts/{fact['id']}", "chats/c-5"):
            self.assertEqual(self.call("DELETE", path).status_code, 404)

    def test_it_needs_the_scope_that_forget_needs(self) -> None:
        writer = self.issue(self.apollo, ["read", "write"])
        for path in ("chats/c-1", f"outputs/{self.items('outputs')[0]['id']}", f"facts/{self.items('facts')[0]['id']}"):
            self.assertEqual(self.call("DELETE", path, key=writer).status_code, 403)


class HistoryTest(FilterCase):
    def test_it_says_who_did_what_with_a_fact(self) -> None:
        [fact, *_] = self.items("facts?author=ann")
        self.ask("PATCH", f"facts/{fact['id']}", {"pinned": not fact["pinned"]})
        self.ask("PATCH", f"facts/{fact['id']}", {"text": "Billing runs on Postgres 17."})
        events = self.ask("GET", f"facts/{fact['id']}/history")["events"]
        self.assertEqual([event["action"] for event in events], ["written", "pin", "edit"])
        self.assertEqual([event["text"] for event in events], [fact["text"], None, "Billing runs on Postgres 17."])
        self.assertEqual(events[2]["by"], "API key CI")


class ExportTest(FilterCase):
    def test_it_is_json_lines_of_what_programs_recorded_and_of_all_memory(self) -> None:
        chat = self.begin_chat(self.alice, self.apollo)
        mine = {"author": "alice", "question": "My own words about Zanzibar.", "now": NOON, "created_at": NOON}
        services.record(self.apollo.bank, chat_key=chat.key, **mine)
        answer = self.call("GET", "export")
        text = b"".join(answer.streaming_content).decode()
        rows = [json.loads(line) for line in text.splitlines()]
        self.assertEqual(answer["Content-Type"], "application/x-ndjson")
        self.assertEqual([row["chat"] for row in rows if row["type"] == "output"], ["c-1", "c-2"])
        self.assertEqual(next(row for row in rows if row["type"] == "output")["metadata"], {"ticket": "T-1", "n": 1})
        self.assertTrue([row for row in rows if row["type"] == "fact"])
        self.assertNotIn("Zanzibar", text)
        self.assertTrue(Event.objects.filter(bank=self.apollo.bank, action="export", actor="API key CI").exists())

"""The API as a program uses it: record, read back, get memory, correct facts."""

import json
from datetime import timedelta
from typing import Any

from django.db import connection
from django.test import override_settings
from django.utils import timezone

from memorybank import services
from memorybank.models import Chat, Event, Fact, Job, Output
from memorybank.services import PublicId
from projects.api.resources import jobs
from projects.models import IdempotencyRecord
from projects.models.idempotency import REPEATABLE_FOR
from tests.support.api_client import ProgramCase
from tests.support.cast import NOON
from tests.support.long_chats import turns

NUMBER = PublicId()
LONG_AGO = "2026-03-02T12:00:00Z"


class RecordingTest(ProgramCase):
    def test_an_output_is_recorded_and_read_back(self) -> None:
        answer = self.ask("POST", "outputs", self.output(id="m-1", title="Billing", created_at=LONG_AGO), status=201)
        row = Output.objects.get()
        self.assertEqual(answer, {"id": NUMBER.to_url(row.pk), "recorded": True})
        self.assertEqual((row.chat.bank, row.chat.title), (self.apollo.bank, "Billing"))
        [back] = self.ask("GET", "chats/c-1/outputs")["items"]
        self.assertEqual((back["id"], back["key"], back["created_at"]), (answer["id"], "m-1", LONG_AGO))
        self.assertEqual((back["question"], back["answer"]), (row.question, "Noted."))

    def test_the_same_id_is_recorded_once(self) -> None:
        first, second = (self.ask("POST", "outputs", self.output(id="m-1"), status=201) for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(Output.objects.count(), 1)

    def test_a_batch_is_recorded_whole_and_says_what_was_known(self) -> None:
        self.ask("POST", "outputs", self.output(id="m-1"), status=201)
        batch = {"outputs": [self.output(id=f"m-{number}", chat=f"c-{number}") for number in (1, 2, 3)]}
        batch["outputs"][0]["chat"] = "c-1"
        answer = self.ask("POST", "outputs/batch", batch, status=201)["outputs"]
        self.assertEqual([item["recorded"] for item in answer], [False, True, True])
        self.assertEqual(Output.objects.count(), 3)

    def test_or_none_of_it_is_if_one_is_refused(self) -> None:
        batch = {"outputs": [self.output(), self.output(), self.output(chat=" ")]}
        answer = self.ask("POST", "outputs/batch", batch, status=422)
        self.assertEqual(answer["errors"], [{"pointer": "/outputs/2/chat", "detail": "chat: must not be empty."}])
        self.assertFalse(Output.objects.exists())

    def test_an_answer_is_rated_once_by_each_author(self) -> None:
        address = f"outputs/{self.ask('POST', 'outputs', self.output(), status=201)['id']}/ratings"
        rating = {"author": "ann", "helpful": True, "model": "small"}
        self.assertEqual(self.ask("PUT", address, rating), {"helpful": 1, "unhelpful": 0})
        self.assertEqual(self.ask("PUT", address, {**rating, "author": "bo"}), {"helpful": 2, "unhelpful": 0})
        self.assertEqual(self.ask("PUT", address, {**rating, "helpful": False}), {"helpful": 1, "unhelpful": 1})
        self.assertEqual(self.ask("PUT", address, {**rating, "helpful": None}), {"helpful": 1, "unhelpful": 0})
        self.assertEqual(self.ask("GET", address), {"helpful": 1, "unhelpful": 0})
        self.assertEqual(self.call("PUT", address, rating, key=self.other_key).status_code, 404)
        silent = self.ask("POST", "outputs", self.output("And then?", answer=""), status=201)["id"]
        self.ask("PUT", f"outputs/{silent}/ratings", rating, status=409)

    def test_what_a_member_writes_on_this_site_is_hers_alone(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)
        services.record(self.apollo.bank, chat_key=chat.key, author="bob", question="Mine.", now=NOON, created_at=NOON)
        refused = self.ask("POST", "outputs", self.output(chat=chat.key), status=409)
        self.assertEqual(refused["errors"][0]["pointer"], "/chat")
        for method, path in (("GET", ""), ("PATCH", ""), ("GET", "/outputs"), ("GET", "/compaction")):
            self.assertEqual(self.call(method, f"chats/{chat.key}{path}", {}).status_code, 404)
        self.assertEqual(self.ask("GET", "chats")["items"], [])

    def test_a_chat_whose_key_is_no_plain_word_has_an_address(self) -> None:
        self.ask("POST", "outputs", self.output(chat="../🦊 a/b"), status=201)
        [chat] = self.ask("GET", "chats")["items"]
        self.assertEqual(chat["key"], "../🦊 a/b")
        self.assertEqual(self.ask("GET", chat["url"])["url"], chat["url"])
        self.assertEqual(len(self.ask("GET", f"{chat['url']}/outputs")["items"]), 1)


class RepeatingTest(ProgramCase):
    def post(self, body: Any, name: str = "r-1", path: str = "outputs", **more: Any) -> Any:
        return self.call("POST", path, body, headers={"Idempotency-Key": name}, **more)

    def test_the_same_request_is_answered_the_same_and_records_once(self) -> None:
        first, second = self.post(self.output()), self.post(self.output())
        self.assertEqual((first.status_code, first.content), (second.status_code, second.content))
        self.assertEqual((first.get("Idempotent-Replayed"), second["Idempotent-Replayed"]), (None, "true"))
        self.assertEqual(Output.objects.count(), 1)

    def test_of_two_at_the_same_moment_one_records_and_both_are_answered_alike(self) -> None:
        others: list[Any] = []

        def meanwhile(execute: Any, sql: str, *more: Any) -> Any:
            if not others and "projects_idempotencyrecord" in sql and not sql.startswith("SELECT"):
                others.append(None)  # the first request has seen that its key is new
                others[0] = self.post(self.output())
            return execute(sql, *more)

        with connection.execute_wrapper(meanwhile):
            late = self.post(self.output())
        self.assertEqual((late.status_code, late.content), (others[0].status_code, others[0].content))
        self.assertEqual((others[0].get("Idempotent-Replayed"), late["Idempotent-Replayed"]), (None, "true"))
        self.assertEqual(Output.objects.count(), 1)

    def test_a_batch_too_in_its_order_with_what_was_known(self) -> None:
        self.ask("POST", "outputs", self.output(id="m-1"), status=201)
        batch = {"outputs": [self.output(), self.output(id="m-1"), self.output()]}
        first, second = (self.post(batch, path="outputs/batch") for _ in range(2))
        self.assertEqual(first.content, second.content)
        self.assertEqual([item["recorded"] for item in first.json()["outputs"]], [True, False, True])
        self.assertEqual(Output.objects.count(), 3)

    def test_another_body_or_address_under_the_same_name_is_refused(self) -> None:
        self.post(self.output())
        refused = self.post(self.output("Something else."))
        self.assertEqual((refused.status_code, refused.json()["errors"][0]["parameter"]), (409, "Idempotency-Key"))
        self.assertEqual(self.post({"outputs": [self.output()]}, path="outputs/batch").status_code, 409)
        self.assertEqual(Output.objects.count(), 1)

    def test_names_of_two_keys_do_not_meet(self) -> None:
        self.post(self.output())
        other = self.post(self.output("Something else."), key=self.issue(self.apollo, name="other"))
        self.assertEqual(other.status_code, 201)

    def test_a_refused_request_may_be_put_right_under_its_name(self) -> None:
        self.assertEqual(self.post(self.output(chat=" ")).status_code, 422)
        self.assertEqual(self.post(self.output()).status_code, 201)

    def test_it_is_known_for_a_day_and_holds_no_word(self) -> None:
        self.post(self.output("Grimsvale"))
        self.assertNotIn("Grimsvale", str(list(IdempotencyRecord.objects.values())))
        IdempotencyRecord.objects.update(at=timezone.now() - REPEATABLE_FOR)
        self.assertEqual(self.post(self.output("Something else.")).status_code, 201)
        self.assertEqual(IdempotencyRecord.objects.count(), 1)

    def test_what_was_erased_is_not_recorded_again_by_a_repeated_request(self) -> None:
        recorded = self.post(self.output()).json()
        self.ask("DELETE", f"outputs/{recorded['id']}")
        again = self.post(self.output())
        self.assertEqual(again.json(), {"id": None, "recorded": False})
        self.assertFalse(Output.objects.exists())

    def test_an_erased_author_is_not_recorded_again_by_a_repeated_request(self) -> None:
        self.post({"outputs": [self.output(id="m-1"), self.output(id="m-2", author="bea")]}, path="outputs/batch")
        self.ask("POST", "forget", {"author": "ann"})
        again = self.post(
            {"outputs": [self.output(id="m-1"), self.output(id="m-2", author="bea")]}, path="outputs/batch"
        )
        self.assertEqual([item["recorded"] for item in again.json()["outputs"]], [False, True])
        self.assertEqual(Output.objects.get().author, "bea")

    def test_a_name_is_bounded(self) -> None:
        for name in ("", "a" * 256):
            self.assertEqual(self.post(self.output(), name=name).status_code, 422)


class ChatTest(ProgramCase):
    def test_it_is_named_and_made_private_and_that_is_on_the_trail(self) -> None:
        self.ask("POST", "outputs", self.output(), status=201)
        answer = self.ask("PATCH", "chats/c-1", {"title": "Billing", "private": True})
        self.assertEqual((answer["title"], answer["private"]), ("Billing", True))
        self.assertEqual([item["key"] for item in self.ask("GET", "chats?private=true")["items"]], ["c-1"])
        self.assertEqual(self.ask("GET", "chats?private=false")["items"], [])
        self.assertEqual(Event.objects.latest("pk").actor, "API key CI")
        self.assertFalse(self.ask("PATCH", "chats/c-1", {"private": False})["private"])

    def test_a_refused_change_renames_nothing(self) -> None:
        self.ask("POST", "outputs", self.output(title="Old"), status=201)
        self.ask("PATCH", "chats/c-1", {"title": "New", "private": True, "readers": ["nobody"]}, status=403)
        self.assertEqual(self.ask("GET", "chats/c-1")["title"], "Old")

    def test_it_is_shortened_or_says_why_not(self) -> None:
        services.record_many(self.apollo.bank, turns(2_000, chat="c-1", author="bob"))
        services.record(self.apollo.bank, chat_key="short", author="bob", question="Hello.", now=NOON, created_at=NOON)
        made = self.ask("POST", "chats/c-1/compaction", {"focus": "Postgres"})
        self.assertLess(made["tokens_after"], made["tokens_before"])
        self.assertEqual(self.ask("GET", "chats/c-1/compaction")["checkpoint"], made)
        refused = self.ask("POST", "chats/short/compaction", {}, status=409)
        self.assertIn("nothing to shorten", refused["detail"])
        self.assertIsNone(self.ask("GET", "chats/short/compaction")["checkpoint"])


class PagingTest(ProgramCase):
    def test_what_comes_in_meanwhile_shifts_no_page(self) -> None:
        for number in range(5):
            self.ask("POST", "outputs", self.output(chat=f"c-{number}"), status=201)
        first = self.ask("GET", "chats?limit=2")
        self.ask("POST", "outputs", self.output(chat="c-new"), status=201)
        second = self.ask("GET", f"chats?limit=2&cursor={first['next']}")
        third = self.ask("GET", f"chats?limit=2&cursor={second['next']}")
        seen = [chat["key"] for page in (first, second, third) for chat in page["items"]]
        self.assertEqual((seen, third["next"]), (["c-4", "c-3", "c-2", "c-1", "c-0"], None))

    def test_whoever_reads_a_chat_goes_on_where_she_was(self) -> None:
        for number in range(3):
            self.ask("POST", "outputs", self.output(f"Turn {number}."), status=201)
        first = self.ask("GET", "chats/c-1/outputs?limit=2")
        self.ask("POST", "outputs", self.output("Turn 3."), status=201)
        second = self.ask("GET", f"chats/c-1/outputs?cursor={first['next']}")
        questions = [item["question"] for page in (first, second) for item in page["items"]]
        self.assertEqual(questions, [f"Turn {number}." for number in range(4)])

    def test_a_cursor_that_is_none_is_refused_by_its_name(self) -> None:
        for cursor in ("1", "aaaaaaaaaaaab", "x" * 200):  # the second has one bit too many, with any site key
            refused = self.ask("GET", f"chats?cursor={cursor}", status=422)
            self.assertEqual(refused["errors"][0]["parameter"], "cursor")


class MemoryTest(ProgramCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", "We decided that billing runs on Postgres 16 from 17 May 2026.")

    def test_a_fact_is_listed_with_the_turns_that_it_rests_on(self) -> None:
        [fact] = self.ask("GET", "facts")["items"]
        self.assertIn("Postgres 16", fact["text"])
        [cited] = fact["citations"]
        output = Output.objects.get()
        self.assertEqual((cited["output"], cited["chat"], cited["author"]), (NUMBER.to_url(output.pk), "told", "bob"))
        self.assertEqual(self.ask("GET", f"facts/{fact['id']}"), fact)
        [entry] = self.ask("GET", "entries?granularity=conversation&live=true")["items"]
        self.assertEqual((entry["id"], entry["chat"], entry["outputs"]), (fact["entry"], "told", 1))
        self.assertEqual(self.ask("GET", f"entries/{entry['id']}"), entry)

    def test_facts_are_found_by_kind_day_entry_and_words(self) -> None:
        [fact] = self.ask("GET", "facts")["items"]
        day, kind = fact["said_on"], fact["kind"]
        for query, texts in {
            f"kind={kind}": 1,
            "kind=question": 0,
            f"from={day}&to={day}": 1,
            "from=2027-01-01": 0,
            "to=2020-01-01": 0,
            f"entry={fact['entry']}": 1,
            f"entry={fact['id']}": int(fact["id"] == fact["entry"]),
            "about=which+Postgres": 1,
            "about=giraffes": 0,
        }.items():
            with self.subTest(query=query):
                self.assertEqual(len(self.ask("GET", f"facts?{query}")["items"]), texts)

    def test_nothing_of_a_private_chat_is_listed(self) -> None:
        services.set_audience(self.apollo.bank, chat_key="told", readers=(), actor="bob", now=NOON)
        for path in ("facts", "entries", "facts?about=Postgres"):
            self.assertEqual(self.ask("GET", path)["items"], [])
        self.assertEqual(self.ask("GET", "block")["block"]["text"], "")

    def test_a_chat_is_given_what_a_chat_on_this_site_is_given(self) -> None:
        question = "Which Postgres does billing run on?"
        theirs = services.prompt_memory(self.apollo.bank, question=question)
        ours = self.ask("POST", "memory", {"question": question})
        self.assertIn("Postgres 16", theirs.block.text)
        for part, expected in (("block", theirs.block), ("recalled", theirs.recalled)):
            self.assertEqual((ours[part]["text"], ours[part]["tokens"]), (expected.text, expected.tokens))
        self.assertEqual(self.ask("GET", "block")["block"], ours["block"])
        self.assertEqual(ours["version"], theirs.version)
        [line] = ours["block"]["lines"]
        self.assertEqual(line["citations"], [NUMBER.to_url(Output.objects.get().pk)])
        self.assertEqual(line["facts"], [self.ask("GET", "facts")["items"][0]["id"]])
        self.assertEqual(self.ask("GET", "block?chat=told")["block"]["text"], "")

    def test_turns_and_facts_that_answer_a_question_are_ranked(self) -> None:
        hits = self.ask("POST", "recall", {"question": "Which Postgres?", "top": 5})["hits"]
        self.assertEqual({hit["kind"] for hit in hits}, {"fact", "output"})
        self.assertEqual(hits, sorted(hits, key=lambda hit: -hit["score"]))
        self.assertEqual(self.ask("POST", "recall", {"question": "Which Postgres?", "chat": "told"})["hits"], [])

    def test_a_fact_is_pinned_put_right_hidden_and_restored_in_the_name_of_the_key(self) -> None:
        number = self.ask("GET", "facts")["items"][0]["id"]
        answer = self.ask("PATCH", f"facts/{number}", {"text": "Billing runs on Postgres 17.", "pinned": True})
        self.assertEqual(
            (answer["text"], answer["pinned"], answer["edited_by"]),
            ("Billing runs on Postgres 17.", True, "API key CI"),
        )
        self.assertTrue(self.ask("PATCH", f"facts/{number}", {"hidden": True})["hidden"])
        self.assertEqual(self.ask("GET", "block")["block"]["text"], "")
        self.assertEqual(self.ask("GET", "facts", key=self.issue(self.apollo, ["read"]))["items"], [])
        self.assertFalse(self.ask("PATCH", f"facts/{number}", {"hidden": False, "pinned": False})["hidden"])
        actors = Event.objects.filter(action__in=["edit", "pin", "hide", "show", "unpin"]).values_list(
            "actor", flat=True
        )
        self.assertEqual(list(actors), ["API key CI"] * 5)

    def test_a_change_that_is_refused_changes_nothing_of_it(self) -> None:
        number = self.ask("GET", "facts")["items"][0]["id"]
        refused = self.ask("PATCH", f"facts/{number}", {"pinned": True, "text": ""}, status=422)
        self.assertEqual(refused["errors"][0]["pointer"], "/text")
        self.assertFalse(Fact.objects.get().pinned)

    def test_a_fact_that_goes_while_it_is_changed_is_not_found(self) -> None:
        number = self.ask("GET", "facts")["items"][0]["id"]

        def erased_meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
            if "SAVEPOINT" in sql and Fact.objects.exists():  # the change begins: the fact was there a moment ago
                Fact.objects.all().delete()
            return execute(sql, *rest)

        with connection.execute_wrapper(erased_meanwhile):
            self.ask("PATCH", f"facts/{number}", {"pinned": True}, status=404)

    def test_a_fact_is_written_by_hand(self) -> None:
        answer = self.ask("POST", "facts", {"text": "Invoices go out on Fridays.", "kind": "decision"}, status=201)
        self.assertEqual((answer["kind"], answer["pinned"], answer["edited_by"]), ("decision", True, "API key CI"))
        services.run(bank=self.apollo.bank, now=NOON + timedelta(hours=2))
        self.assertIn("Invoices go out on Fridays.", self.ask("GET", "block")["block"]["text"])

    def test_forgetting_is_tried_first_then_done_with_a_receipt(self) -> None:
        tried = self.ask("POST", "forget", {"chat": "told", "dry_run": True})
        self.assertEqual((tried["id"], tried["dry_run"], tried["counts"]["turns"]), (None, True, 1))
        self.assertTrue(Output.objects.exists())
        done = self.ask("POST", "forget", {"chat": "told"})
        self.assertEqual(done["counts"]["turns"], 1)
        self.assertEqual(self.ask("GET", f"receipts/{done['id']}"), done)
        self.assertEqual(self.ask("GET", "receipts")["items"], [done])
        self.assertEqual(self.ask("GET", "block")["block"]["text"], "")
        self.assertEqual(done["asked_by"], "API key CI")

    def test_an_output_and_a_line_with_its_turns_are_forgotten_by_their_numbers(self) -> None:
        [fact] = self.ask("GET", "facts")["items"]
        output = fact["citations"][0]["output"]
        for named in ({"output": output, "dry_run": True}, {"facts": [fact["id"]]}):
            self.assertEqual(self.ask("POST", "forget", named)["counts"]["turns"], 1)
        self.assertFalse(Output.objects.exists())

    def test_exactly_one_thing_is_forgotten_at_a_time(self) -> None:
        for named in ({}, {"chat": "told", "author": "bob"}):
            self.ask("POST", "forget", named, status=422)
        for field, named in {"/output": {"output": "x"}, "/facts/0": {"facts": ["aaaaaaaaaaaaa"]}}.items():
            refused = self.ask("POST", "forget", named, status=422)
            self.assertEqual(refused["errors"][0]["pointer"], field)
        self.assertTrue(Output.objects.exists())


class WorkTest(ProgramCase):
    def test_summaries_are_asked_for_and_their_progress_is_told(self) -> None:
        self.switch_on(self.apollo)
        self.ask("POST", "outputs", self.output(), status=201)
        answer = self.call("POST", "summarise", {"chat": "c-1"})
        job = answer.json()
        self.assertEqual((answer.status_code, job["percent"], job["asked_by"]), (202, 0, "API key CI"))
        self.assertEqual(self.ask("GET", answer["Location"]), job)
        services.run(bank=self.apollo.bank, until_idle=True)
        done = self.ask("GET", answer["Location"])
        self.assertEqual(done["percent"], 100)
        self.assertIsNotNone(done["finished_at"])
        self.assertEqual(len(self.ask("GET", "facts")["items"]), 1)

    async def test_they_are_followed_as_events_until_they_are_over(self) -> None:
        row = await Job.objects.acreate(bank=self.apollo.bank, kind="summarise", asked_by="ann", asked_at=NOON)
        stream, received = jobs.events(self.apollo.bank, row.pk), []
        received.append(await anext(stream))
        await Job.objects.filter(pk=row.pk).aupdate(percent=40)
        received.append(await anext(stream))
        await Job.objects.filter(pk=row.pk).aupdate(percent=100, finished_at=NOON)
        received += [item async for item in stream]
        parts = [item.split("\n") for item in received]
        self.assertEqual([part[0] for part in parts], ["event: progress", "event: progress", "event: done"])
        self.assertEqual([json.loads(part[1].removeprefix("data: "))["percent"] for part in parts], [0, 40, 100])

    async def test_silence_is_broken_by_a_heartbeat(self) -> None:
        row = await Job.objects.acreate(bank=self.apollo.bank, kind="summarise", asked_by="ann", asked_at=NOON)
        stream = jobs.events(self.apollo.bank, row.pk, poll=0, heartbeat=0)
        while not (await anext(stream)).startswith("event: "):
            pass
        self.assertTrue((await anext(stream)).startswith(": "))
        await Job.objects.filter(pk=row.pk).adelete()
        self.assertEqual([item async for item in stream if not item.startswith(":")], [])

    def test_while_memory_is_off_there_is_nothing_to_ask_for(self) -> None:
        refused = self.ask("POST", "summarise", {}, status=409)
        self.assertEqual(refused["detail"], "Memory is off in this project.")
        self.switch_on(self.apollo)
        self.ask("POST", "summarise", {"chat": "none"}, status=404)


class ProjectTest(ProgramCase):
    def test_settings_are_changed_within_their_limits_and_that_is_on_the_trail(self) -> None:
        answer = self.ask("PATCH", "settings", {"max_tokens": 500, "monthly_cap": "9.50", "timezone": "Europe/Berlin"})
        self.assertEqual((answer["max_tokens"], answer["monthly_cap"], answer["idle_minutes"]), (500, "9.50", 10))
        self.assertEqual(self.ask("GET", "settings"), answer)
        self.assertIsNone(self.ask("PATCH", "settings", {"monthly_cap": None})["monthly_cap"])
        for field, value in {"max_tokens": 1, "timezone": "Mars", "keep_turns_days": 0}.items():
            refused = self.ask("PATCH", "settings", {field: value}, status=422)
            self.assertEqual(refused["errors"][0]["pointer"], f"/{field}")
        self.assertIn("idle_minutes", self.ask("PATCH", "settings", {"colour": "red"}, status=422)["detail"])
        self.assertEqual(Event.objects.latest("pk").actor, "API key CI")

    def test_memory_is_switched_on_once_the_disclosure_is_accepted_and_off(self) -> None:
        refused = self.ask("PATCH", "settings", {"enabled": True, "max_tokens": 300}, status=422)
        self.assertIn("disclosure", refused["detail"])
        self.assertEqual(self.ask("GET", "settings")["max_tokens"], 2000)
        self.assertTrue(self.ask("PATCH", "settings", {"enabled": True, "disclosure_accepted": True})["enabled"])
        self.apollo.bank.refresh_from_db()
        self.assertEqual(self.apollo.bank.disclosure_accepted_by, "API key CI")
        self.assertFalse(self.ask("PATCH", "settings", {"enabled": False})["enabled"])

    def test_usage_and_what_the_key_opens_are_told(self) -> None:
        self.ask("POST", "outputs", self.output(), status=201)
        used = self.ask("GET", "usage")
        self.assertEqual((used["chats"], used["outputs"], used["llm_calls"]), (1, 1, 0))
        own = self.ask("GET", "key")
        self.assertEqual((own["project"], own["scopes"]), ("acme/apollo", ["read", "write", "admin"]))
        with override_settings(API_REQUESTS_PER_MINUTE=7000):
            self.assertEqual(self.ask("GET", "key")["requests_per_minute"], 7000)


class NumberTest(ProgramCase):
    def test_no_number_of_a_row_leaves_the_site(self) -> None:
        chat = Chat.objects.create(pk=987_654_321, bank=self.apollo.bank, key="c-1")
        Output.objects.create(
            pk=987_654_322, sequence=0, chat=chat, author="bob", question="Hello", status="error", created_at=NOON
        )
        for path in ("chats", "chats/c-1", "chats/c-1/outputs", "usage", "chats?limit=1"):
            self.assertNotIn("98765432", self.call("GET", path).content.decode())

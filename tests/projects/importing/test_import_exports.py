"""import_chats --from: another product's chats become chats of one person, private by default, once."""

import json
from pathlib import Path
from typing import Any

from django.test import override_settings

from memorybank import services
from memorybank.models import Chat, Entry, Output
from projects.models import Conversation
from tests.projects.importing.test_exports import FOLDER, fixture, line, zipped
from tests.projects.importing.test_import_chats import ImportCase
from tests.support.cast import NOON, Cast
from tests.support.commands import Ran, run

PROJECT = ("--project", "acme/apollo")
PRICED = {
    "LLMS": {"summary": {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "m"}},
    "PRICES": {"summary": (1.0, 10.0)},
}


class ExportCase(ImportCase, Cast):
    def bring(self, name: str, *options: object, content: Any = None) -> Ran:
        path: Path = FOLDER / f"{name}.json"
        if content is not None:
            path = self.folder / "export.json"
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return run("import_chats", "--from", name, path, *PROJECT, "--json", *options)


class TestImportingExports(ExportCase):
    def test_an_account_s_chats_are_private_to_its_person_by_default(self) -> None:
        ran = self.bring("claude", "--user", "bob")
        self.assertEqual(ran.json, {"chats": 2, "recorded": 4, "known": 0, "set_aside": 1, "bad": 0})
        person = self.acme.memberships.get(user=self.bob).person
        for chat in Chat.objects.all():
            self.assertTrue(chat.private)
            self.assertEqual(services.readers_of(chat), {person})
        self.assertEqual(Conversation.objects.filter(owner=self.bob).count(), 2)
        chat = Chat.objects.get(title="Database choice")
        output = chat.outputs.get(key="m2")
        self.assertEqual((output.author, output.metadata["imported_from"]), ("bob", "claude"))
        self.assertEqual(output.created_at.isoformat(), "2026-03-02T10:00:01+00:00")

    def test_our_own_json_lines_of_one_project_become_chats_of_their_people(self) -> None:
        people = ("--user", "ann=bob", "--user", "ben=alice")
        content = line(title="Database") + line(user="ben", question="Who pays?", chat="c-18")
        ran = self.bring("jsonl", *people, content=content)
        self.assertEqual(ran.json, {"chats": 2, "recorded": 2, "known": 0, "set_aside": 0, "bad": 0})
        self.assertEqual(self.bring("jsonl", *people, content=content).json["known"], 2)
        turns = Output.objects.order_by("pk").values_list("author", "question", "chat__private")
        self.assertEqual(list(turns), [("bob", "We chose Postgres 16.", True), ("alice", "Who pays?", True)])
        ran = self.bring("jsonl", *people, content=content + line(project="zeus"))
        self.assertIn("the lines are of 2 projects", ran.err)
        self.assertEqual(Output.objects.count(), 2)

    def test_the_importer_may_choose_the_whole_project(self) -> None:
        self.bring("claude", "--user", "bob", "--audience", "project")
        self.assertEqual(list(Chat.objects.values_list("private", flat=True)), [False, False])

    def test_new_messages_for_one_person_are_not_added_to_a_chat_that_others_may_read(self) -> None:
        export = json.loads(fixture("claude"))
        self.bring("claude", "--user", "bob", "--audience", "project", content=export)
        messages = next(chat["chat_messages"] for chat in export if chat["chat_messages"])
        words = {"text": "My diagnosis is Zorblax.", "content": [{"type": "text", "text": "My diagnosis is Zorblax."}]}
        messages.append({**messages[-1], "uuid": "new", "sender": "human", **words})
        messages.append({**messages[-1], "uuid": "answer", "sender": "assistant", "parent_message_uuid": "new"})
        ran = self.bring("claude", "--user", "bob", "--audience", "private", content=export)
        self.assertIn("audience: the chat has been imported before", ran.err)
        self.assertFalse(Output.objects.filter(question__contains="Zorblax").exists())

    def test_a_zip_is_imported_as_it_comes(self) -> None:
        path = self.folder / "export.zip"
        path.write_bytes(zipped(conversations__json=fixture("claude"), users__json=b"[]").getvalue())
        ran = run("import_chats", "--from", "claude", path, *PROJECT, "--user", "bob", "--json")
        self.assertEqual((ran.code, ran.json["recorded"]), (0, 4))

    def test_only_the_shown_branch_becomes_memory_and_the_others_are_versions(self) -> None:
        ran = self.bring("chatgpt", "--user", "bob", "--audience", "project", "--enable")
        self.assertEqual((ran.code, ran.json["recorded"], ran.json["set_aside"], ran.json["bad"]), (1, 6, 3, 1))
        chat = Chat.objects.get(title="Go-live date")
        self.assertEqual([turn.key for turn in chat.outputs.shown()], ["a2", "a3"])
        shown = chat.outputs.get(key="a2")
        ids = dict(chat.outputs.values_list("key", "pk"))
        versions = services.versions_of(chat, [shown])
        self.assertEqual(versions, {shown.pk: sorted([ids["a1"], ids["a2r"], ids["a2"]])})
        services.run(until_idle=True)
        cited = set(Output.objects.filter(facts__isnull=False).values_list("key", flat=True))
        self.assertLessEqual(cited, {"a2", "a3", "ia"})
        self.assertIn("a2", cited)

    def test_another_version_can_be_shown_and_brings_what_followed_it(self) -> None:
        self.bring("chatgpt", "--user", "bob")
        chat = Chat.objects.get(title="Go-live date")
        services.show_version(self.apollo.bank, chat.outputs.get(key="a1").pk)
        self.assertEqual([turn.key for turn in chat.outputs.shown()], ["a1", "a1b"])
        services.show_version(self.apollo.bank, chat.outputs.get(key="a2").pk)
        self.assertEqual([turn.key for turn in chat.outputs.shown()], ["a2", "a3"])

    def test_a_second_import_changes_nothing(self) -> None:
        for name, options in {
            "chatgpt": (),
            "claude": (),
            "open-webui": (),
            "librechat": (),
            "mem0": (),
            "restai": (),
        }.items():
            with self.subTest(name):
                first = self.bring(name, "--user", "bob", *options)
                before = list(Output.objects.order_by("pk").values())
                again = self.bring(name, "--user", "bob", *options)
                self.assertEqual((again.json["recorded"], again.json["known"]), (0, first.json["recorded"]))
                self.assertEqual(list(Output.objects.order_by("pk").values()), before)

    def test_a_second_import_keeps_what_people_chose_here(self) -> None:
        self.bring("chatgpt", "--user", "bob")
        chat = Chat.objects.get(title="Go-live date")
        services.show_version(self.apollo.bank, chat.outputs.get(key="a1").pk)
        self.bring("chatgpt", "--user", "bob")
        self.assertEqual([turn.key for turn in chat.outputs.shown()], ["a1", "a1b"])

    def test_a_later_export_adds_what_is_new_and_shows_the_branch_that_it_shows(self) -> None:
        self.bring("chatgpt", "--user", "bob", "--audience", "project", "--enable")
        services.run(until_idle=True)
        item = json.loads(fixture("chatgpt"))[0]
        nodes = item["mapping"]
        message = {**nodes["a1b"]["message"], "create_time": 1772500000.0}
        asked = {**message, "author": {"role": "user"}}
        nodes["u5"] = {"id": "u5", "parent": "a1b", "children": ["a5"], "message": asked}
        nodes["a5"] = {"id": "a5", "parent": "u5", "children": [], "message": message}
        nodes["a1b"]["children"] = ["u5"]
        again = ("--user", "bob", "--audience", "project")
        ran = self.bring("chatgpt", *again, content=[{**item, "current_node": "a5"}])
        self.assertEqual(ran.json["recorded"], 1)
        chat = Chat.objects.get(title="Go-live date")
        self.assertEqual([turn.key for turn in chat.outputs.shown()], ["a1", "a1b", "a5"])
        self.assertEqual(len(services.versions_of(chat, list(chat.outputs.shown()))), 1)
        services.run(until_idle=True)
        self.assertEqual(services.find_violations(self.apollo.bank), [])
        cited = set(Output.objects.filter(facts__entry__chat=chat).values_list("key", flat=True))
        self.assertTrue(cited)
        self.assertLessEqual(cited, {"a1", "a1b", "a5"})

    def test_two_accounts_with_the_same_ids_get_chats_of_their_own(self) -> None:
        self.bring("mem0", "--user", "bob")
        self.bring("mem0", "--user", "alice")
        self.assertEqual(Output.objects.filter(author="alice").count(), Output.objects.filter(author="bob").count())
        for chat in Chat.objects.all():
            self.assertEqual(len(set(chat.outputs.values_list("author", flat=True))), 1)

    def test_each_person_of_an_export_gets_their_own_chats(self) -> None:
        ran = self.bring("open-webui", "--user", "5f1c-priya=alice", "--user", "77aa-tom=bob")
        self.assertEqual(ran.json["recorded"], 4)
        authors = {chat.title: chat.outputs.first().author for chat in Chat.objects.all()}
        self.assertEqual(authors, {"Rack layout": "alice", "Cables": "bob"})

    def test_somebody_for_whom_nobody_was_chosen_is_left_out_by_name(self) -> None:
        ran = self.bring("open-webui", "--user", "5f1c-priya=alice")
        self.assertEqual(Chat.objects.count(), 1)
        self.assertIn("conversation 0b9d-ow-2: user: no user is chosen for “77aa-tom”.", ran.err)

    def test_private_chats_need_a_member(self) -> None:
        for name in ("charlie", "nobody"):
            ran = self.bring("claude", "--user", name)
            self.assertEqual((ran.code, ran.err), (2, f"user: the project has no member “{name}”."))
        self.assertFalse(Output.objects.exists())

    def test_a_turn_that_cannot_be_stored_is_named_and_the_others_are_recorded(self) -> None:
        items = json.loads(fixture("claude"))
        items[1]["chat_messages"][1]["text"] = "x" * 1_000_001
        ran = self.bring("claude", "--user", "bob", content=items)
        self.assertEqual((ran.code, ran.json["recorded"], ran.json["bad"]), (1, 3, 1))
        self.assertIn("conversation c1a0de00-0002, turn o2: answer: 1,000,001 characters", ran.err)

    def test_strict_stops_at_the_first_bad_conversation(self) -> None:
        ran = self.bring("chatgpt", "--user", "bob", "--strict")
        self.assertIn("Nothing after it was read.", ran.err)
        self.assertEqual(Chat.objects.count(), 1)

    def test_it_says_what_is_missing(self) -> None:
        path = FOLDER / "claude.json"
        for options, words in [
            (["--from", "claude"], "--from needs --project"),
            (["--from", "claude", *PROJECT], "--from needs --project, and --user"),
            (["--user", "bob"], "--user needs --from."),
            (["--from", "claude", *PROJECT, "--user", "=x"], "is not NAME or ID=NAME"),
            (["--from", "claude", *PROJECT, "--user", "bob", "--transcript"], "no transcripts"),
        ]:
            ran = run("import_chats", path, *options)
            self.assertEqual(ran.code, 2)
            self.assertIn(words, ran.err)

    def test_memory_of_private_chats_is_made_for_their_person_only(self) -> None:
        self.bring("claude", "--user", "bob", "--enable")
        services.run(until_idle=True)
        self.assertTrue(Entry.objects.filter(chat__private=True).exists())
        self.assertEqual(services.facts_of(self.apollo.bank).visible_to().count(), 0)
        self.assertEqual(services.find_violations(self.apollo.bank), [])


class TestDryRun(ExportCase):
    def test_it_counts_and_records_nothing(self) -> None:
        with override_settings(MEMORYBANK=PRICED):
            ran = self.bring("chatgpt", "--dry-run")
        report = ran.json
        cost, tokens = float(report.pop("cost")), report.pop("tokens")
        self.assertEqual(
            report,
            {
                "people": 1,
                "chats": 2,
                "turns": 3,
                "messages": 6,
                "empty_chats": 0,
                "other_versions": 3,
                "known_turns": 0,
                "first": "2026-03-02T10:01:40+00:00",
                "last": "2026-03-03T10:00:01+00:00",
                "model_calls": 2,
                "left_out": {"questions without an answer": 1, "files and pictures": 1},
                "bad": 1,
            },
        )
        # Two calls with instructions of 600 tokens each, and a third of a token written for each one read.
        self.assertAlmostEqual(cost, (tokens + 1200) / 1e6 + round(tokens / 3) * 10 / 1e6, places=5)
        self.assertGreater(tokens, 30)
        self.assertIn("item 2: create_time", ran.err)
        self.assertFalse(Output.objects.exists())

    def test_it_says_what_is_there_already(self) -> None:
        self.bring("claude", "--user", "bob")
        self.assertEqual(self.bring("claude", "--user", "bob", "--dry-run").json["known_turns"], 4)
        self.assertEqual(self.bring("claude", "--user", "alice", "--dry-run").json["known_turns"], 0)

    def test_without_a_model_nothing_costs(self) -> None:
        with override_settings(MEMORYBANK={}):
            report = self.bring("open-webui", "--dry-run").json
        self.assertEqual((report["model_calls"], report["cost"], report["people"]), (0, "0", 2))

    def test_a_dry_run_counts_json_lines(self) -> None:
        line = {"tenant": "new", "project": "p", "user": "ann", "question": "Q", "answer": "A"}
        lines = [{**line, "chat": chat, "created_at": NOON.isoformat(), "id": chat} for chat in ("c1", "c2")]
        ran = self.take(*lines, "{", options=["--dry-run", "--json"])
        self.assertEqual((ran.code, ran.json["chats"], ran.json["turns"], ran.json["bad"]), (1, 2, 2, 1))
        self.assertFalse(Output.objects.exists())

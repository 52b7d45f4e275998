"""The import pages: a dry run first, then a worker imports, and the page says how far it is."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from memorybank import services
from memorybank.models import Chat, Output
from memorybank.services import PublicId
from projects.importing import demo, runs
from projects.models import ImportRun, TenantEvent, WaitingConversation
from tests.projects.importing.test_exports import fixture, line, zipped
from tests.projects.importing.test_import_exports import PRICED
from tests.support.cast import Cast, without_models
from tests.support.commands import run

PROJECT_SLUGS = ["acme", "apollo"]


@without_models
class ImportPagesTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.alice)

    def upload(self, content: bytes, **fields: Any) -> Any:
        file = SimpleUploadedFile("export.json", content)
        return self.client.post(reverse("project-import", args=PROJECT_SLUGS), {"file": file, **fields})

    def read(self, name: str = "chatgpt") -> ImportRun:
        self.assertEqual(self.upload(fixture(name)).status_code, 302)
        return ImportRun.objects.latest("pk")

    def address(self, row: ImportRun) -> str:
        return reverse("project-import-run", args=[*PROJECT_SLUGS, row.pk])

    def page(self, row: ImportRun) -> str:
        return str(self.client.get(self.address(row)).content.decode())

    def start(self, row: ImportRun, **fields: str) -> Any:
        return self.client.post(self.address(row), {"audience": "private", "person-0": "bob", **fields})

    def test_only_owners_and_admins_open_the_pages_and_only_of_their_project(self) -> None:
        row = self.read()
        for address in (reverse("project-import", args=PROJECT_SLUGS), self.address(row)):
            for user, status in ((self.bob, 403), (self.vera, 403), (self.charlie, 404), (self.root, 200)):
                self.client.force_login(user)
                self.assertEqual(self.client.get(address).status_code, status)
                if status != 200:
                    self.assertEqual(self.client.post(address, {"person-0": "bob"}).status_code, status)
            self.client.logout()
            self.assertEqual(self.client.get(address).status_code, 302)
        self.client.force_login(self.charlie)
        elsewhere = reverse("project-import-run", args=["globex", "zeus", row.pk])
        self.assertEqual(self.client.get(elsewhere).status_code, 404)
        self.assertFalse(Output.objects.exists())

    def test_a_file_is_counted_first_and_nothing_is_recorded(self) -> None:
        with override_settings(MEMORYBANK=PRICED):
            row = self.read()
        page = self.page(row)
        for words in (
            "2 chats of 1 person, 6 messages, about",
            "From 2 Mar 2026 to 3 Mar 2026.",
            "Besides, 3 messages of branches that were not shown.",
            "takes about 2 model calls",
            "At the prices that are set, that costs 0.00",
            "Questions without an answer: 1",
            "export.json, item 2: create_time: “last spring” is not a time.",
            "ChatGPT",
        ):
            self.assertIn(words, page)
        self.assertFalse(Output.objects.exists())

    def test_what_is_started_is_imported_by_a_worker_and_the_page_says_how_far_it_is(self) -> None:
        row = self.read()
        self.assertRedirects(self.start(row), self.address(row))
        self.assertIn("0 of 2 chats are imported.", self.page(row))
        self.assertIn("Nothing is left to import.", run("run_imports").out)
        page = self.page(row)
        self.assertIn("Imported: 6 new questions with their answers.", page)
        self.assertIn("None. Other people’s chats are open to them alone.", page)
        chat = Chat.objects.get(title="Go-live date")
        person = self.acme.memberships.get(user=self.bob).person
        self.assertEqual((chat.private, services.readers_of(chat)), (True, {person}))
        self.assertEqual([turn.key for turn in chat.outputs.shown()], ["a2", "a3"])
        self.assertFalse(WaitingConversation.objects.exclude(content=None).exists())
        event = TenantEvent.objects.get(action="import")
        self.assertEqual((event.actor, event.detail["people"], event.detail["chats"]), ("alice", ["bob"], 2))

    def test_one_s_own_imported_chats_are_linked(self) -> None:
        row = self.read("claude")
        self.start(row, **{"person-0": "alice"})
        runs.work()
        chat = Chat.objects.get(title="Database choice")
        self.assertIn(reverse("chat", args=[*PROJECT_SLUGS, chat.key]), self.page(row))
        self.assertEqual(self.client.get(reverse("chat", args=[*PROJECT_SLUGS, chat.key])).status_code, 200)

    def test_an_interrupted_import_goes_on_where_it_was(self) -> None:
        row = self.read()
        self.start(row, audience="project")

        def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            if sql.startswith("INSERT") and "NWC-" in str(params):
                raise OperationalError("The server closed the connection.")
            return execute(sql, params, many, context)

        with self.assertRaises(OperationalError), connection.execute_wrapper(refuse):
            runs.work()
        row.refresh_from_db()
        self.assertEqual((row.done, row.percent, Chat.objects.count()), (1, 50, 1))
        self.assertIn("1 of 2 chats are imported.", self.page(row))
        self.assertIn("Another process is importing.", run("run_imports").out)  # the one that failed may still be at it
        self.assertEqual(Chat.objects.count(), 1)
        self.assertFalse(runs.work(clock=lambda: timezone.now() + timedelta(minutes=3)))
        row.refresh_from_db()
        self.assertEqual((row.done, row.recorded, row.known, Chat.objects.count()), (2, 6, 0, 2))
        self.assertEqual(Chat.objects.filter(private=True).count(), 0)

    def test_a_worker_that_has_no_time_left_gives_it_back(self) -> None:
        row = self.read()
        self.start(row)
        self.assertTrue(runs.work(seconds=0))
        self.assertFalse(runs.work())
        row.refresh_from_db()
        self.assertEqual(row.done, 2)

    def test_the_same_file_again_changes_nothing_and_says_so(self) -> None:
        for _ in range(2):
            row = self.read("claude")
            self.start(row, **{"person-0": "alice"})
            runs.work()
        self.assertEqual(Output.objects.count(), 5 - 1)
        page = self.page(row)
        self.assertIn("Imported: 0 new questions with their answers.", page)
        self.assertIn('<th scope="row">Chats</th><td>0</td><td>2</td><td>0</td>', page)
        self.assertIn('<th scope="row">Questions with answers</th><td>0</td><td>4</td><td>0</td>', page)
        self.assertIn("Chats of 1 person: alice.", page)
        self.assertIn("4 questions with their answers are there already", self.page(self.read("claude")))

    def test_people_of_an_export_are_matched_with_members_or_left_out(self) -> None:
        row = self.read("open-webui")
        self.assertContains(self.client.get(self.address(row)), "77aa-tom")
        answer = self.start(row, **{"person-0": "", "person-1": ""})
        self.assertContains(answer, "Match at least one person to a member.", status_code=400)
        answer = self.start(row, **{"person-0": "charlie"})
        self.assertEqual(answer.status_code, 400)  # no member
        self.start(row, **{"person-0": "", "person-1": "bob"})
        runs.work()
        self.assertEqual([chat.title for chat in Chat.objects.all()], ["Cables"])
        page = self.page(row)
        self.assertIn("no user is chosen for “5f1c-priya”", page)
        self.assertIn('<th scope="row">Chats</th><td>1</td><td>0</td><td>2</td>', page)
        self.assertIn("1 person of the file is left out.", page)

    def test_the_line_that_readme_shows_is_imported(self) -> None:
        readme = (settings.BASE_DIR / "README.md").read_text()
        [line] = re.findall(r'^\{"tenant": .*\}$', readme, re.MULTILINE)
        self.assertEqual(self.upload(line.encode()).status_code, 302)
        row = ImportRun.objects.get()
        page = self.page(row)
        self.assertIn("1 chat of 1 person, 2 messages, about", page)
        self.assertFalse(Output.objects.exists())
        self.start(row)
        runs.work()
        [turn] = Output.objects.all()
        self.assertEqual((turn.question, turn.author, turn.chat.private), ("We chose Postgres 16.", "bob", True))
        sample = Path(demo.__file__).parent / "sample" / "chats.jsonl"
        answer = self.upload(sample.read_bytes())
        self.assertContains(answer, "python manage.py import_chats FILE", status_code=400)
        self.assertEqual(ImportRun.objects.count(), 1)

    def test_a_second_file_of_json_lines_adds_to_the_first(self) -> None:
        for content in (line(id=1, question="First file."), line(id=2, question="Second file.")):
            self.upload(content)
            self.start(ImportRun.objects.latest("pk"))
            runs.work()
        self.assertEqual(
            list(Output.objects.order_by("pk").values_list("question", "set_aside")),
            [("First file.", False), ("Second file.", False)],
        )

    def test_whoever_is_left_out_of_json_lines_is_nobody_else(self) -> None:
        self.upload(line(user="ann", question="My own secret.") + line(user="cem", question="The gate is green.", id=4))
        row = ImportRun.objects.latest("pk")
        place = list(row.report["chats_of"]).index("cem")
        self.start(row, **{f"person-{1 - place}": "", f"person-{place}": "bob"})
        runs.work()
        self.assertEqual(list(Output.objects.values_list("author", "question")), [("bob", "The gate is green.")])
        self.upload(line(user="ann") + line(user="", id=4) + line(user=None, id=5))
        self.assertEqual(ImportRun.objects.latest("pk").report["bad"], 2)

    def test_lines_without_an_answer_or_an_id_are_imported_once(self) -> None:
        for _ in range(2):
            self.upload(line(id=None, answer=None) + line(id=None, question=None, answer="It is open."))
            self.start(ImportRun.objects.latest("pk"))
            runs.work()
        self.assertEqual(Output.objects.count(), 2)

    def test_a_bad_line_of_json_lines_is_no_refused_chat(self) -> None:
        self.upload(line(id=1) + line(id=2, answr="x") + line(id=3, created_at="x"))
        row = ImportRun.objects.latest("pk")
        self.start(row)
        runs.work()
        page = self.client.get(self.address(row))
        self.assertEqual((page.context["refused_chats"], page.context["refused_turns"]), (0, 2))

    def test_a_damaged_first_line_of_json_lines_is_named_and_the_others_are_imported(self) -> None:
        self.upload(line()[:40] + b"\n" + line(id=2) + line(id=3))
        row = ImportRun.objects.latest("pk")
        self.assertIn("export.json, line 1: not valid JSON at column", self.page(row))
        self.start(row)
        runs.work()
        self.assertEqual(Output.objects.count(), 2)

    def test_a_missing_brace_at_the_end_of_a_line_is_reported_there(self) -> None:
        cut = line(id=1).rstrip()[:-1]
        self.upload(cut + b"\n" + line(id=2))
        row = ImportRun.objects.latest("pk")
        self.assertIn(f"export.json, line 1: not valid JSON at column {len(cut) + 1}.", self.page(row))

    def test_of_a_file_without_any_chat_nothing_is_said_of_costs(self) -> None:
        self.upload(line(status="error"))
        row = ImportRun.objects.latest("pk")
        self.assertEqual(row.total, 0)
        self.assertNotIn("No model is asked", self.page(row))

    def test_that_the_rest_was_not_read_is_said_before_a_hundred_other_reasons(self) -> None:
        content = b",".join([line(id=1), *(line(answr="x") for _ in range(150)), b"{"])
        self.upload(b"[" + content)
        row = ImportRun.objects.latest("pk")
        self.assertEqual((len(row.reasons), row.bad), (100, 151))
        self.start(row)
        runs.work()
        self.assertIn("What follows it in the file was not read.", self.page(row))

    def test_a_dry_run_is_discarded_or_forgotten_after_a_day(self) -> None:
        row = self.read()
        self.client.post(self.address(row), {"what": "discard"})
        self.assertFalse(WaitingConversation.objects.exists())
        self.read()
        runs.work(clock=lambda: timezone.now() + timedelta(days=1, minutes=1))
        self.assertFalse(ImportRun.objects.exists() or WaitingConversation.objects.exists())

    def test_a_started_import_is_neither_started_again_nor_discarded(self) -> None:
        row = self.read()
        self.start(row)
        self.start(row, **{"person-0": "alice"})
        self.client.post(self.address(row), {"what": "discard"})
        row.refresh_from_db()
        self.assertEqual(row.authors, {"": "bob"})
        self.assertEqual(row.conversations.count(), 2)

    def test_somebody_who_leaves_before_the_import_gets_no_chats(self) -> None:
        row = self.read()
        self.start(row)
        self.acme.memberships.filter(user=self.bob).delete()
        runs.work()
        self.assertIn("the project has no member “bob”", self.page(row))
        self.assertFalse(Output.objects.exists())
        self.assertFalse(WaitingConversation.objects.exists())

    def test_what_cannot_be_read_is_refused_beside_the_field(self) -> None:
        for content, words in (
            (b"hello", "not valid JSON"),
            (b'{"a": 1}', "is no export of one of these products"),
            (zipped(a__txt=b"").getvalue(), "has no JSON file"),
        ):
            self.assertContains(self.upload(content), words, status_code=400)
        answer = self.upload(fixture("claude"), format="chatgpt")
        self.assertContains(answer, "is an export of Claude, not of ChatGPT", status_code=400)
        with override_settings(IMPORT_MEGABYTES=0):
            self.assertContains(self.upload(fixture("claude")), "The file has more than 0 MB.", status_code=400)
        self.assertFalse(ImportRun.objects.exists())

    def test_an_export_of_very_many_people_is_for_the_command(self) -> None:
        [item] = json.loads(fixture("open-webui"))[1:2]
        many = [{**item, "id": str(number), "user_id": str(number)} for number in range(51)]
        self.assertContains(self.upload(json.dumps(many).encode()), "has 51 people", status_code=400)
        self.assertFalse(WaitingConversation.objects.exists())

    def test_a_run_has_an_address_that_counts_nothing(self) -> None:
        row = self.read()
        self.assertTrue(self.address(row).endswith(PublicId().to_url(row.pk)))

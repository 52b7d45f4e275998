"""``/compact`` in a chat: what it puts in the place of the turns, what the page shows, how far it is, and why not."""

import json
import re
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from memorybank import services
from memorybank.exceptions import LLMRejected
from memorybank.models import Checkpoint, Compaction
from memorybank.services import PublicId
from projects.chat import compaction, service
from tests.support.cast import NOON, scripted, with_chat_model, without_models
from tests.support.long_chat_page import GOOD, LongChat

LEASE = timedelta(minutes=10)


@with_chat_model()
class TestTheCommand(LongChat):
    def test_only_the_word_alone_or_before_others_is_the_command(self) -> None:
        for message, focus in {
            "/compact": "", "  /compact \n": "", "/compact the  ports": "the  ports", "/compact\nports": "ports",
            "/compactor": None, "What does /compact do?": None, "compact": None, "": None, "/Compact": None,
        }.items():  # fmt: skip
            self.assertEqual(compaction.command_focus(message), focus, message)

    def test_it_puts_a_checkpoint_in_the_place_of_the_turns_and_records_no_message(self) -> None:
        scripted().enqueue(GOOD)
        before = self.outputs()
        made = self.compact("/compact the ports")
        self.assertEqual(self.outputs(), before)
        data = self.client.get(self.chat_url(self.chat, "compaction")).json()
        self.assertEqual((data["percent"], data["problem"], data["checkpoint"]["text"]), (None, "", made.text))
        label = f"Shortened: {made.tokens_before:,} → {made.tokens_after:,} tokens"
        self.assertEqual(data["checkpoint"]["label"], label)
        self.assertIn("What matters most to the person now\nthe ports", scripted().history[0][0]["content"])

    def test_the_next_prompt_has_project_memory_checkpoint_and_tail_and_is_valid(self) -> None:
        self.apollo.system_prompt = "Be brief."
        self.apollo.save()
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", "The launch is on 17 June in Lisbon.")
        scripted().enqueue(GOOD)
        compaction.compact(self.apollo, self.chat)
        self.say(self.alice, self.chat, "And now?")
        system, first, *rest = scripted().history[-1]
        self.assertTrue(system["content"].startswith("Be brief.") and "Lisbon" in system["content"])
        self.assertTrue(first["content"].startswith(Checkpoint.objects.get().text))
        self.assertEqual(len(rest), 8)  # four turns without the first question, and the message
        roles = [message["role"] for message in (first, *rest)]
        self.assertEqual(roles, ["user", "assistant"] * 4 + ["user"])

    def test_the_page_shows_its_line_beneath_the_turns_it_stands_for_and_every_turn(self) -> None:
        scripted().enqueue(GOOD)
        made = compaction.compact(self.apollo, self.chat)
        page = self.page()
        self.assertIn(f"Shortened: {made.tokens_before:,} → {made.tokens_after:,} tokens", page)
        ids = re.findall(r'id="((?:turn|checkpoint)-[a-z2-7]{13})"', page)
        self.assertEqual([item.partition("-")[0] for item in ids[-6:]], ["turn", "checkpoint", *["turn"] * 4])
        self.assertIn("It must never write to the ledger_v1", page)
        self.assertIn("&lt;&lt;&lt;earlier", page)  # escaped

    def test_an_older_one_says_that_it_is_over(self) -> None:
        scripted().enqueue(GOOD, "Well?", "Well!", GOOD)
        compaction.compact(self.apollo, self.chat)
        for message in ("One more?", "word " * 400):
            self.say(self.alice, self.chat, message)
        newest = PublicId().to_url(compaction.compact(self.apollo, self.chat).through)
        for query, standing in (({}, 1), ({"before": newest}, 0)):  # an earlier page has the older one alone
            page = self.page(**query)
            self.assertEqual(page.count("until the chat was shortened again"), 1)
            self.assertEqual(
                page.count("In this chat, the model is given this"), standing + 1
            )  # and once in a template

    def test_without_javascript_the_form_does_it_and_says_why_not(self) -> None:
        scripted().enqueue(GOOD)
        url = self.chat_url(self.chat)
        done = self.client.post(url, {"message": "/compact"})
        self.assertRegex(done["Location"], rf"^{url}#checkpoint-[a-z2-7]{{13}}$")
        again = self.client.post(url, {"message": "/compact"})
        self.assertContains(again, "There is nothing new to shorten", status_code=409)
        self.assertContains(again, "/compact</textarea>", status_code=409)

    def test_who_looks_is_told_why_it_came_to_nothing_and_who_opens_the_page_later_for_a_while(self) -> None:
        scripted().enqueue(LLMRejected("The model returned an empty answer"))
        refused = self.client.post(self.chat_url(self.chat), {"message": "/compact"})
        why = "The model gave no answer that can be used, so the chat stays as it was, "
        self.assertContains(refused, why, status_code=409)
        data = self.client.get(self.chat_url(self.chat, "compaction")).json()
        self.assertRegex(data["problem"], rf"^{why}[\d,]+ tokens\.$")
        self.assertRegex(self.page(), f'id="not-compacted" role="status">.*{why}')
        self.assertFalse(Checkpoint.objects.exists())

    def test_what_cannot_begin_is_one_line_of_json(self) -> None:
        self.assertEqual(self.say(self.alice, self.chat, f"/compact {'a' * 1_001}").status_code, 400)
        assert Compaction.objects.begin(self.chat, timezone.now(), LEASE)
        second = self.say(self.alice, self.chat, "/compact")
        self.assertEqual(second.status_code, 409)
        self.assertEqual(second.json()["error"], "The chat is being shortened already, 0 % done.")

    def test_nobody_else_compacts_it_or_sees_how_far_it_is(self) -> None:
        for user, status in ((self.bob, 404), (self.charlie, 404), (self.vera, 403)):
            self.assertEqual(self.say(user, self.chat, "/compact").status_code, status)
            self.assertEqual(self.client.get(self.chat_url(self.chat, "compaction")).status_code, status)
        self.assertFalse(scripted().history)

    def test_a_compacted_chat_opens_in_few_queries(self) -> None:
        scripted().enqueue(GOOD)
        compaction.compact(self.apollo, self.chat)
        with self.assertNumQueries(13):
            self.page()


@without_models
class TestWithoutAModel(LongChat):
    def test_it_says_that_it_is_made_of_sentences_and_the_prompt_on_the_page_has_it(self) -> None:
        self.compact()
        self.assertIn("consists of quoted sentences, because no chat model", self.page())
        self.say(self.alice, self.chat, "And now?")
        self.assertEqual(self.page().count("&lt;&lt;&lt;earlier"), 2)  # the line, and the prompt


@with_chat_model()
class TestMeanwhile(LongChat):
    def test_the_page_and_who_polls_see_how_far_it_is(self) -> None:
        held = Compaction.objects.begin(self.chat, timezone.now(), LEASE)
        assert held
        held.save_progress(timezone.now() + LEASE, percent=42, stage="parts", done=3, of=7)
        data = self.client.get(self.chat_url(self.chat, "compaction")).json()
        self.assertEqual(
            data, {"percent": 42, "stage": "taking notes, 3 of 7", "problem": "", "late": False, "checkpoint": None}
        )
        self.assertIn("42 %, taking notes, 3 of 7", self.page())
        self.assertNotIn('compaction" hidden', self.page())
        held.release()
        self.assertIn('compaction" hidden', self.page())

    def test_a_message_that_is_sent_meanwhile_is_kept_and_answered_after_it(self) -> None:
        held = Compaction.objects.begin(self.chat, timezone.now(), LEASE)
        assert held
        at = self.chat.outputs.order_by("-sequence")[4].sequence
        made = Checkpoint(chat=self.chat, through=at, text="Notes.", tokens_before=9, tokens_after=8, made_at=NOON)

        def over(seconds: float) -> None:
            """It is over after one look: in the same thread, as the test's transaction is."""
            self.assertTrue(self.chat.outputs.filter(question="Well?", status="pending").exists())
            made.save()
            held.release()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "sleep", over)
            scripted().enqueue("Well.")
            self.assertEqual(self.say(self.alice, self.chat, "Well?").json()["answer"], "Well.")
        self.assertTrue(scripted().history[0][1]["content"].startswith("Notes."))

    def test_a_private_chat_is_shortened_and_nobody_else_is_told(self) -> None:
        self.switch_on(self.apollo)
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=(), actor="alice")
        scripted().enqueue("- context: the script is /srv/billing/tools/move_invoices.py")
        self.assertIn("move_invoices", compaction.compact(self.apollo, self.chat).text)
        services.run(bank=self.apollo.bank)
        other = self.begin_chat(self.bob, self.apollo)
        prompt = service.prompt_for(self.apollo, other, "Which script moves invoices?")
        self.assertNotIn("move_invoices", json.dumps(prompt.messages))

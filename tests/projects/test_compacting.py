"""A long chat on its page: ``/compact``, shortened by itself, its percentage, and what is still known afterwards."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from memorybank import llm, services
from memorybank.exceptions import LLMRejected, LLMTooLong, LLMUnavailable
from memorybank.models import Checkpoint, Compaction, LLMCall, Output
from projects import answering, compacting
from projects.turn_numbers import TurnNumber
from tests import long_chats
from tests.base import NOON, Cast, scripted, with_chat_model, without_models
from tests.commands import PATIENCE
from tests.openai_server import OpenAIServer

#: Recall, constraint, decision, artefact, error, progress, continuation; and what stands in the kept tail.
PROBES = (*long_chats.PLANTED, ("tail", "", "Which ticket is closed?", "BILL-902"))
HOUR = timedelta(hours=1)
GOOD = "- goal: reading logs\n- next: read the log of shard 7"


class LongChat(Cast):
    """Alice's chat, of some tokens."""

    tokens = 6_000

    def setUp(self) -> None:
        super().setUp()
        self.chat = self.begin_chat(self.alice, self.apollo)
        said = long_chats.turns(self.tokens, chat=self.chat.key, author="alice")
        services.record_many(self.apollo.bank, said, now=NOON + timedelta(days=9))
        self.client.force_login(self.alice)

    def page(self, **query: Any) -> str:
        return self.client.get(self.chat_url(self.chat), query).content.decode()

    def outputs(self) -> int:
        return self.chat.outputs.count()


@with_chat_model()
class TestTheCommand(LongChat):
    def test_only_the_word_alone_or_before_others_is_the_command(self) -> None:
        for message, focus in {
            "/compact": "", "  /compact \n": "", "/compact the  ports": "the  ports", "/compact\nports": "ports",
            "/compactor": None, "What does /compact do?": None, "compact": None, "": None, "/Compact": None,
        }.items():  # fmt: skip
            self.assertEqual(compacting.focus_in(message), focus, message)

    def test_it_puts_a_checkpoint_in_the_place_of_the_turns_and_records_no_message(self) -> None:
        scripted().enqueue(GOOD)
        before = self.outputs()
        told = self.say(self.alice, self.chat, "/compact the ports").json()["checkpoint"]
        made = Checkpoint.objects.get()
        self.assertEqual((told["text"], self.outputs()), (made.text, before))
        self.assertEqual(told["label"], f"Compacted: {made.tokens_before:,} → {made.tokens_after:,} tokens")
        self.assertIn("What matters most to the person now\nthe ports", scripted().history[0][0]["content"])

    def test_the_next_prompt_has_project_memory_checkpoint_and_tail_and_is_valid(self) -> None:
        self.apollo.system_prompt = "Be brief."
        self.apollo.save()
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", "The launch is on 17 June in Lisbon.")
        scripted().enqueue(GOOD)
        compacting.compact(self.apollo, self.chat)
        self.say(self.alice, self.chat, "And now?")
        system, first, *rest = scripted().history[-1]
        self.assertTrue(system["content"].startswith("Be brief.") and "Lisbon" in system["content"])
        self.assertTrue(first["content"].startswith(Checkpoint.objects.get().text))
        self.assertEqual(len(rest), 8)  # four turns without the first question, and the message
        roles = [message["role"] for message in (first, *rest)]
        self.assertEqual(roles, ["user", "assistant"] * 4 + ["user"])

    def test_the_page_shows_its_line_beneath_the_turns_it_stands_for_and_every_turn(self) -> None:
        scripted().enqueue(GOOD)
        made = compacting.compact(self.apollo, self.chat)
        page = self.page()
        self.assertIn(f"Compacted: {made.tokens_before:,} → {made.tokens_after:,} tokens", page)
        ids = re.findall(r'id="((?:turn|checkpoint)-[a-z2-7]{13})"', page)
        self.assertEqual([each.partition("-")[0] for each in ids[-6:]], ["turn", "checkpoint", *["turn"] * 4])
        self.assertIn("It must never write to the ledger_v1", page)
        self.assertIn("&lt;&lt;&lt;earlier", page)  # escaped

    def test_an_older_one_says_that_it_is_over(self) -> None:
        scripted().enqueue(GOOD, "Well?", "Well!", GOOD)
        compacting.compact(self.apollo, self.chat)
        for message in ("One more?", "word " * 400):
            self.say(self.alice, self.chat, message)
        newest = TurnNumber().to_url(compacting.compact(self.apollo, self.chat).through)
        for query, standing in (({}, 1), ({"before": newest}, 0)):  # an earlier page has the older one alone
            page = self.page(**query)
            self.assertEqual(page.count("until the chat was compacted again"), 1)
            self.assertEqual(page.count("In this chat the model is told this"), standing + 1)  # and once in a template

    def test_without_javascript_the_form_does_it_and_says_why_not(self) -> None:
        scripted().enqueue(GOOD)
        url = self.chat_url(self.chat)
        done = self.client.post(url, {"message": "/compact"})
        self.assertRegex(done["Location"], rf"^{url}#checkpoint-[a-z2-7]{{13}}$")
        again = self.client.post(url, {"message": "/compact"})
        self.assertContains(again, "Nothing to shorten: the chat has", status_code=409)
        self.assertContains(again, "/compact</textarea>", status_code=409)

    def test_a_refusal_is_one_line_of_json(self) -> None:
        scripted().enqueue(LLMRejected("The model answered nothing"))
        refused = self.say(self.alice, self.chat, "/compact")
        self.assertEqual(refused.status_code, 409)
        self.assertRegex(
            refused.json()["error"], r"^The model failed, so the chat stays as it was, [\d,]+ tokens: The model"
        )
        self.assertFalse(Checkpoint.objects.exists())
        self.assertEqual(self.say(self.alice, self.chat, f"/compact {'a' * 1_001}").status_code, 400)

    def test_nobody_else_compacts_it_or_sees_how_far_it_is(self) -> None:
        for user, status in ((self.bob, 404), (self.charlie, 404), (self.vera, 403)):
            self.assertEqual(self.say(user, self.chat, "/compact").status_code, status)
            self.assertEqual(self.client.get(self.chat_url(self.chat, "compaction")).status_code, status)
        self.assertFalse(scripted().history)

    def test_a_compacted_chat_opens_in_few_queries(self) -> None:
        scripted().enqueue(GOOD)
        compacting.compact(self.apollo, self.chat)
        with self.assertNumQueries(9):
            self.page()


@without_models
class TestWithoutAModel(LongChat):
    def test_it_says_that_it_is_made_of_sentences_and_the_prompt_on_the_page_has_it(self) -> None:
        self.say(self.alice, self.chat, "/compact")
        self.assertIn("made of sentences that were said, because no chat model", self.page())
        self.say(self.alice, self.chat, "And now?")
        self.assertEqual(self.page().count("&lt;&lt;&lt;earlier"), 2)  # the line, and the prompt


@override_settings(LLM_CONTEXT_TOKENS=4_000)
@with_chat_model()
class TestByItself(LongChat):
    def last_prompt(self) -> str:
        return "\n".join(message["content"] for message in scripted().history[-1])

    def test_a_prompt_that_would_not_hold_every_turn_is_shortened_first(self) -> None:
        scripted().answer = lambda messages: long_chats.model([dict(message) for message in messages])
        reply = self.say(self.alice, self.chat, "Which script moves invoices?").json()
        self.assertIn("/srv/billing/tools/move_invoices.py", reply["answer"])
        self.assertEqual(reply["checkpoint"]["text"], Checkpoint.objects.get().text)
        calls = len(scripted().history)
        self.say(self.alice, self.chat, "Which script moves invoices?")
        self.assertEqual(len(scripted().history), calls + 1)

    def test_where_that_fails_it_is_answered_from_the_newest_turns_and_not_tried_each_time(self) -> None:
        scripted().answer = "Sorry, no."
        self.assertEqual(self.say(self.alice, self.chat, "Well?").json()["answer"], "Sorry, no.")
        self.assertIn("This chat could not be compacted just now. The model failed", self.page())
        calls = len(scripted().history)
        self.assertGreater(calls, 1)
        self.say(self.alice, self.chat, "Well?")
        self.assertEqual(len(scripted().history), calls + 1)

    def test_the_calls_are_the_chats_own_and_not_memorys(self) -> None:
        scripted().answer = lambda messages: long_chats.model([dict(message) for message in messages])
        self.say(self.alice, self.chat, "Which script moves invoices?")
        self.assertEqual(set(LLMCall.objects.values_list("purpose", flat=True)), {"chat", "compact"})
        self.assertEqual(LLMCall.objects.of_memory([self.apollo.bank], NOON), 0)


@with_chat_model()
class TestTooLongForTheProvider(LongChat):
    """The window in the settings is larger than the model's."""

    def test_it_is_shortened_harder_and_asked_again_once(self) -> None:
        scripted().enqueue(LLMTooLong("HTTP 400: too long"), GOOD, "All is well.")
        self.assertEqual(self.say(self.alice, self.chat, "Well?").json()["answer"], "All is well.")
        newest = Checkpoint.objects.get().through
        self.assertEqual(self.chat.outputs.filter(pk__gt=newest).count(), 3)  # two were kept
        self.assertEqual(Output.objects.get(question="Well?").status, "ok")

    def test_what_is_too_long_even_then_fails_with_the_providers_words(self) -> None:
        scripted().enqueue(LLMTooLong("HTTP 400: too long"), GOOD, LLMTooLong("HTTP 400: still too long"))
        self.assertIn("still too long", self.say(self.alice, self.chat, "Well?").json()["error"])
        self.assertEqual(Output.objects.get(question="Well?").status, "error")

    def test_where_it_cannot_be_shortened_the_message_fails_and_can_be_asked_again(self) -> None:
        scripted().enqueue(LLMTooLong("HTTP 400: too long"), LLMUnavailable("down"))
        reply = self.say(self.alice, self.chat, "Well?")
        self.assertEqual((reply.status_code, reply.json()["error"]), (502, "HTTP 400: too long"))
        self.assertFalse(Checkpoint.objects.exists())


@with_chat_model()
class TestMeanwhile(LongChat):
    def test_the_page_and_who_polls_see_how_far_it_is(self) -> None:
        held = Compaction.objects.begin(self.chat, timezone.now(), HOUR)
        assert held
        held.note(timezone.now() + HOUR, percent=42, stage="parts", done=3, of=7)
        told = self.client.get(self.chat_url(self.chat, "compaction")).json()
        self.assertEqual(told, {"percent": 42, "stage": "taking notes, 3 of 7", "problem": "", "checkpoint": None})
        self.assertIn("42 %, taking notes, 3 of 7", self.page())
        self.assertNotIn('compaction" hidden', self.page())
        held.release()
        self.assertIn('compaction" hidden', self.page())

    def test_a_message_that_is_sent_meanwhile_is_kept_and_answered_after_it(self) -> None:
        held = Compaction.objects.begin(self.chat, timezone.now(), HOUR)
        assert held
        at = self.chat.outputs.order_by("-pk")[4].pk
        made = Checkpoint(chat=self.chat, through=at, text="Notes.", tokens_before=9, tokens_after=8, made_at=NOON)

        def over(seconds: float) -> None:
            """It is over after one look: in the same thread, as the test's transaction is."""
            self.assertTrue(self.chat.outputs.filter(question="Well?", status="pending").exists())
            made.save()
            held.release()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compacting.time, "sleep", over)
            scripted().enqueue("Well.")
            self.assertEqual(self.say(self.alice, self.chat, "Well?").json()["answer"], "Well.")
        self.assertTrue(scripted().history[0][1]["content"].startswith("Notes."))

    def test_a_private_chat_is_shortened_and_nobody_else_is_told(self) -> None:
        self.switch_on(self.apollo)
        services.set_private(self.apollo.bank, chat_key=self.chat.key, private=True, actor="alice")
        scripted().enqueue("- context: the script is /srv/billing/tools/move_invoices.py")
        self.assertIn("move_invoices", compacting.compact(self.apollo, self.chat).text)
        services.run(bank=self.apollo.bank)
        other = self.begin_chat(self.bob, self.apollo)
        prompt = answering.prompt_for(self.apollo, other, "Which script moves invoices?")
        self.assertNotIn("move_invoices", json.dumps(prompt.messages))


@pytest.mark.long
class TestProbes(LongChat):
    """A chat of 100,000 tokens, and a real server that answers by what it is sent and by nothing else."""

    tokens = 100_000

    def test_what_was_said_done_and_decided_is_known_afterwards_and_the_work_goes_on(self) -> None:
        with OpenAIServer(keep=500) as server:
            server.answer, server.context = long_chats.model, 32_000
            backend = "memorybank.llm.openai_compatible.OpenAICompatibleLLM"
            options = {"BACKEND": backend, "MODEL": "m", "BASE_URL": server.base_url, "TIMEOUT": PATIENCE}
            with override_settings(MEMORYBANK={"LLMS": {"chat": options}}):
                llm.reset()
                told = self.say(self.alice, self.chat, "/compact").json()["checkpoint"]
                answers = {asked: self.say(self.alice, self.chat, asked).json()["answer"] for *_, asked, _ in PROBES}
                llm.reset()
            self.assertGreater(server.calls, 15 + len(PROBES))
            for section, _, asked, known in PROBES:
                with self.subTest(section=section):
                    self.assertIn(known, answers[asked])
            self.assert_valid(server.requests[-1]["messages"])
        made = Checkpoint.objects.get()
        self.assertEqual(told["text"], made.text)
        self.assertLess(made.tokens_after, made.tokens_before // 5)

    def assert_valid(self, messages: list[dict[str, Any]]) -> None:
        """Valid for every provider: a system prompt, then people and model in turn, people last; nothing of tools."""
        self.assertEqual(
            [m["role"] for m in messages], ["system", *["user", "assistant"] * (len(messages) // 2 - 1), "user"]
        )
        self.assertTrue(all(set(m) == {"role", "content"} and m["content"].strip() for m in messages))

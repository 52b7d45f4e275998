"""A chat that is shortened by itself, and what is still known afterwards."""

from typing import Any

import pytest
from django.test import override_settings

from memorybank import llm, services
from memorybank.exceptions import LLMTooLong, LLMUnavailable
from memorybank.models import Checkpoint, LLMCall, Output
from tests.support import long_chats
from tests.support.cast import NOON, scripted, with_chat_model
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.long_chat_page import GOOD, LongChat
from tests.support.openai_server import OpenAIServer

#: Recall, constraint, decision, artefact, error, progress, continuation; and what stands in the kept tail.
PROBES = (*long_chats.PLANTED, ("tail", "", "Which ticket is closed?", "BILL-902"))


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
        self.assertRegex(
            self.page(), r"role=\"status\">This chat could not be shortened just now. <span [^>]+>The model gave no"
        )
        calls = len(scripted().history)
        self.assertGreater(calls, 1)
        self.say(self.alice, self.chat, "Well?")
        self.assertEqual(len(scripted().history), calls + 1)

    def test_the_calls_are_the_chats_own_and_not_memorys(self) -> None:
        scripted().answer = lambda messages: long_chats.model([dict(message) for message in messages])
        self.say(self.alice, self.chat, "Which script moves invoices?")
        self.assertEqual(set(LLMCall.objects.values_list("purpose", flat=True)), {"chat", "compact"})
        self.assertEqual(services.spent_since([self.apollo.bank], NOON), 0)


@with_chat_model()
class TestTooLongForTheProvider(LongChat):
    """The window in the settings is larger than the model's."""

    def test_it_is_shortened_harder_and_asked_again_once(self) -> None:
        scripted().enqueue(LLMTooLong("HTTP 400: too long"), GOOD, "All is well.")
        self.assertEqual(self.say(self.alice, self.chat, "Well?").json()["answer"], "All is well.")
        newest = Checkpoint.objects.get().last_output
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


@pytest.mark.long
@pytest.mark.any_database
class TestProbes(LongChat):
    """A chat of 100,000 tokens, and a real server that answers by what it is sent and by nothing else."""

    tokens = 100_000

    def test_what_was_said_done_and_decided_is_known_afterwards_and_the_work_goes_on(self) -> None:
        with OpenAIServer(keep=500) as server:
            server.answer, server.context = long_chats.model, 32_000
            backend = "memorybank.llm.openai_compatible.OpenAICompatibleLLM"
            options = {
                "BACKEND": backend,
                "MODEL": "m",
                "BASE_URL": server.base_url,
                "TIMEOUT": PROCESS_TIMEOUT_SECONDS,
            }
            with override_settings(MEMORYBANK={"LLMS": {"chat": options}}):
                llm.reset()
                announced = self.compact()
                answers = {asked: self.say(self.alice, self.chat, asked).json()["answer"] for *_, asked, _ in PROBES}
                llm.reset()
            self.assertGreater(server.calls, 15 + len(PROBES))
            for section, _, asked, known in PROBES:
                with self.subTest(section=section):
                    self.assertIn(known, answers[asked])
            self.assert_valid(server.requests[-1]["messages"])
        made = Checkpoint.objects.get()
        self.assertEqual(announced, made)
        self.assertLess(made.tokens_after, made.tokens_before // 5)

    def assert_valid(self, messages: list[dict[str, Any]]) -> None:
        """Valid for every provider: a system prompt, then people and model in turn, people last; nothing of tools."""
        self.assertEqual(
            [m["role"] for m in messages], ["system", *["user", "assistant"] * (len(messages) // 2 - 1), "user"]
        )
        self.assertTrue(all(set(m) == {"role", "content"} and m["content"].strip() for m in messages))

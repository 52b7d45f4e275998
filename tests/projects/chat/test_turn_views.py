"""Turns and what their author does with them: edit, answer anew, remember, forget; and the memory they were given."""

from datetime import timedelta
from itertools import product
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memorybank import llm, services
from memorybank.exceptions import LLMUnavailable
from memorybank.models import Chat, Erasure, Job, Output
from projects.chat import revisions, service
from projects.models import AnswerContext, Conversation, Draft
from tests.support.cast import JSON, NOON, Cast, scripted, with_chat_model, without_models
from tests.support.word_search import places

CRANE = "The zanzibar crane will be painted orange before 17 May 2026."
#: Queries that opening a chat may take, and those of its list of chats.
OPENING, LISTING = 17, 2
DEEDS = ("edit-turn", "regenerate", "continue", "show-version", "remember-now", "forget-turn")
#: Where an earlier version of a turn stays.
TURNS = ("memorybank.Output.question", "memorybank.Output.answer")


class TurnCase(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.switch_on(self.apollo)
        self.chat = self.begin_chat(self.bob, self.apollo)
        self.client.force_login(self.bob)

    def tell(self, question: str, answer: str = "Noted.", author: str = "bob") -> Output:
        fields = {"chat_key": self.chat.key, "author": author, "question": question, "answer": answer}
        return services.record(self.apollo.bank, **fields, created_at=NOON, now=NOON)  # type: ignore[arg-type]

    def url(self, name: str, output: Output) -> str:
        return reverse(name, args=["acme", "apollo", self.chat.key, output.pk])

    def post(self, name: str, output: Output, headers: dict[str, str] | None = None, **form: Any) -> Any:
        return self.client.post(self.url(name, output), form, headers=headers, follow=True)

    def questions(self) -> list[str]:
        """Those that the page shows."""
        return list(self.chat.outputs.shown().order_by("sequence").values_list("question", flat=True))

    def remembered(self) -> list[str]:
        """Where memory has the crane: everywhere but in the turns themselves."""
        return [place for place in places("zanzibar") if place not in TURNS]


@with_chat_model()
class ReplacingTest(TurnCase):
    def setUp(self) -> None:
        super().setUp()
        self.first, self.second, self.third = self.tell("Good morning."), self.tell(CRANE), self.tell("And the quay?")

    def test_the_page_to_edit_says_how_much_and_whose_goes(self) -> None:
        self.tell("The quay is mine.", author="tom")
        page = self.client.get(self.url("edit-turn", self.second))
        self.assertContains(page, "This replaces the message, its answer, and 2 later turns.")
        self.assertContains(page, "others wrote: tom (1).")
        self.assertContains(page, CRANE)
        self.assertContains(self.client.get(self.url("edit-turn", self.chat.outputs.latest("pk"))), "", status_code=404)

    def test_an_edited_message_takes_the_place_of_all_that_followed_and_memory_follows(self) -> None:
        services.summarise_now(self.apollo.bank, chat_key=self.chat.key)
        self.assertTrue(self.remembered())
        scripted().enqueue("Red it is.")
        page = self.post("edit-turn", self.second, message="The crane will be red.")
        self.assertEqual(self.questions(), ["Good morning.", "The crane will be red."])
        messages = [message["content"] for message in scripted().history[-1][1:]]
        self.assertEqual(messages, ["Good morning.", "Noted.", "The crane will be red."])
        self.assertEqual(self.remembered(), [])
        self.assertContains(page, "</span> 2/2")
        self.assertNotContains(page, CRANE)
        self.post("show-version", self.second)
        self.assertEqual(self.questions(), ["Good morning.", CRANE, "And the quay?"])
        services.run(bank=self.apollo.bank, now=NOON + timedelta(days=1))
        self.assertTrue(self.remembered())

    def test_forgetting_a_turn_forgets_its_versions_too(self) -> None:
        scripted().enqueue("Red it is.")
        self.post("edit-turn", self.second, message="The crane will be red.")
        self.post("forget-turn", self.chat.outputs.latest("pk"), sure="yes")
        self.assertEqual(list(self.chat.outputs.values_list("question", flat=True)), ["Good morning."])
        self.assertEqual(places("zanzibar"), [])

    def test_if_the_model_fails_all_is_there_and_trying_again_takes_its_place(self) -> None:
        scripted().enqueue(LLMUnavailable("down"), "Red it is.")
        page = self.post("edit-turn", self.second, message="The crane will be red.")
        self.assertContains(page, "this replaces 2 messages above.")
        self.assertEqual(self.questions(), ["Good morning.", CRANE, "And the quay?", "The crane will be red."])
        self.post("retry", self.chat.outputs.latest("pk"))
        self.assertEqual(self.questions(), ["Good morning.", "The crane will be red."])
        self.assertEqual([message["content"] for message in scripted().history[1][1:-1]], ["Good morning.", "Noted."])

    def test_a_part_of_an_answer_becomes_a_version_and_is_continued_in_another(self) -> None:
        asked = revisions.regenerate(self.apollo, self.third, "bob")
        stopped = service.stopped(asked, llm.Completion("Red it", 1, 1, "scripted"))
        self.assertEqual((stopped.status, stopped.answer), ("ok", "Red it …"))
        scripted().enqueue(" is.")
        self.post("continue", stopped)
        self.assertEqual(self.chat.outputs.shown().latest("sequence").answer, "Red it is.")
        self.assertEqual([message["content"] for message in scripted().history[-1][-2:-1]], ["Red it"])
        page = self.client.get(self.chat_url(self.chat))
        self.assertContains(page, "</span> 3/3")
        self.post("show-version", self.third)
        self.assertContains(self.client.get(self.chat_url(self.chat)), "</span> 1/3")

    def test_what_broke_off_is_shown_and_continued(self) -> None:
        lost = services.record(
            self.apollo.bank, chat_key=self.chat.key, author="bob", question="And the hall?", status="error", now=NOON
        )
        self.assertContains(self.post("continue", lost), "There is nothing of an answer that could be continued.")
        Draft.objects.create(output=lost, text="Hall **9**", saved_at=NOON)
        page = self.client.get(self.chat_url(self.chat))
        self.assertContains(page, "<strong>9</strong>")
        self.assertContains(page, "The answer broke off here.")
        scripted().enqueue(" is ours.")
        self.post("continue", lost)
        self.assertEqual(Output.objects.get(pk=lost.pk).answer, "Hall **9** is ours.")
        self.assertFalse(Draft.objects.exists())

    def test_an_empty_message_replaces_nothing(self) -> None:
        page = self.post("edit-turn", self.second, message="  ")
        self.assertContains(page, "write something first", status_code=400)
        self.assertEqual(len(self.questions()), 3)

    def test_another_answer_replaces_one_turn_alone_once_it_is_there(self) -> None:
        scripted().enqueue(LLMUnavailable("down"), "I do not know.")
        Output.objects.filter(pk=self.second.pk).update(question="Which crane?", answer=CRANE)
        self.post("regenerate", self.second)
        self.assertIn("Which crane?", self.questions()[1])
        self.post("regenerate", self.second)  # the one that failed, and not one more
        self.assertEqual(self.questions(), ["Good morning.", "And the quay?", "Which crane?"])
        self.assertEqual(self.chat.outputs.latest("pk").answer, "I do not know.")
        self.assertEqual(self.remembered(), [])
        self.assertEqual(self.post("regenerate", self.second).status_code, 200)  # a second click
        self.assertEqual(len(scripted().history), 2)

    def test_nobody_changes_the_turns_of_others(self) -> None:
        theirs = self.tell("The quay is mine.", author="tom")
        for name, headers in product(DEEDS, ({}, JSON)):
            self.post(name, theirs, headers, message="It is not.", sure="yes")
        for user in (self.alice, self.charlie, self.root):
            self.client.force_login(user)
            for name, headers in product(DEEDS, ({}, JSON)):
                with self.subTest(user=user.username, name=name, headers=headers):
                    status = self.post(name, self.second, headers, message="It is not.", sure="yes").status_code
                    self.assertEqual(status, 404)
        self.assertEqual(len(self.questions()), 4)


@without_models
class WithoutModelTest(TurnCase):
    def test_an_edited_message_stands_alone_and_at_once(self) -> None:
        turn = self.tell(CRANE)
        self.assertNotContains(self.client.get(self.chat_url(self.chat)), "Regenerate")
        self.post("edit-turn", turn, message="The crane will be red.")
        self.assertEqual(self.questions(), ["The crane will be red."])
        self.assertEqual(self.remembered(), [])
        self.assertEqual(Chat.objects.get(pk=self.chat.pk).title, "The crane will be red.")
        self.assertTrue(Conversation.objects.filter(chat=self.chat).exists())
        self.assertContains(self.post("regenerate", self.chat.outputs.latest("pk")), "nobody would answer")

    def test_a_turn_is_remembered_at_once_by_who_wrote_it(self) -> None:
        turn = self.tell(CRANE)
        self.assertContains(self.client.get(self.chat_url(self.chat)), "Remember now")
        self.assertContains(self.post("remember-now", turn), "Done: this chat will be added to memory")
        self.assertEqual(Job.objects.get().asked_by, "bob")
        services.run(bank=self.apollo.bank)
        self.assertIn("zanzibar", services.prompt_memory(self.apollo.bank).block.text)
        self.assertNotContains(self.client.get(self.chat_url(self.chat)), "Remember now")
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=(), actor="bob")
        self.assertContains(self.post("remember-now", turn), "This chat is private")

    def test_a_turn_is_forgotten_after_a_look(self) -> None:
        self.tell("Good morning.")
        turn = self.tell(CRANE)
        services.summarise_now(self.apollo.bank, chat_key=self.chat.key)
        self.assertContains(self.post("forget-turn", turn), "Nothing has been deleted yet")
        self.assertFalse(Erasure.objects.exists())
        self.assertContains(self.post("forget-turn", turn, sure="yes"), "Deleted from the chat and from memory")
        self.assertEqual(self.questions(), ["Good morning."])
        self.assertEqual(places("zanzibar"), [])
        page = self.post("forget-turn", self.chat.outputs.get(), sure="yes")
        self.assertRedirects(page, reverse("project", args=["acme", "apollo"]))


@with_chat_model()
class MemoryUsedTest(TurnCase):
    def setUp(self) -> None:
        super().setUp()
        self.remember(self.apollo, "alice", CRANE)
        self.remember(self.apollo, "bob", "The night ferry to Lisbon leaves at 19:30.", chat_key="ferry")
        Conversation.objects.create(chat=Chat.objects.get(key="ferry"), owner=self.bob)
        self.turn = self.answered(self.bob, self.chat)

    def answered(self, user: User, chat: Chat) -> Output:
        scripted().enqueue("Orange.")
        self.say(user, chat, "Which colour has the zanzibar crane?")
        return chat.outputs.get()

    def used(self) -> Any:
        return self.client.get(self.url("used", self.turn))

    def test_each_line_leads_to_its_source_as_far_as_she_may_see_it(self) -> None:
        page = self.used()
        ferry = Output.objects.get(chat__key="ferry")
        self.assertContains(page, "zanzibar crane")
        told = {used.line.text: used for used in page.context["block_lines"]}
        self.assertIn("/chats/ferry/?before=", told[ferry.question].own_turns[0])
        self.assertEqual([told[CRANE].own_turns, told[CRANE].why], [[], ""])
        self.chat = self.begin_chat(self.alice, self.apollo)
        self.turn = self.answered(self.alice, self.chat)
        why = {line.why for line in self.used().context["block_lines"]}
        self.assertTrue(all(self.client.get(address).status_code == 200 for address in why))

    def test_what_is_erased_hidden_or_made_private_is_gone_from_it_too(self) -> None:
        services.forget(self.apollo.bank, chat="told", actor="alice")
        self.assertNotContains(self.used(), "orange")
        self.assertGreater(self.used().context["missing"], 0)
        services.set_audience(self.apollo.bank, chat_key="ferry", readers=(), actor="bob")
        page = self.used()
        self.assertEqual([page.context["block_lines"], page.context["notes"]], [[], []])
        self.assertNotIn("zanzibar", str(list(AnswerContext.objects.values())))

    def test_nobody_else_sees_it(self) -> None:
        for user in (self.alice, self.charlie, self.root):
            self.client.force_login(user)
            self.assertEqual(self.used().status_code, 404)


@without_models
class LongChatTest(TurnCase):
    def grow(self, to: int) -> None:
        """So many answered turns, and as many chats of hers, half of them private."""
        have = self.chat.outputs.count()
        Output.objects.bulk_create(
            Output(
                chat=self.chat, sequence=n, author="bob", question=f"Crate {n}?", answer="Hall **9**.", created_at=NOON
            )
            for n in range(have, to)
        )
        fields = {"memory_version": 1, "memory_tokens": 9, "prompt_tokens": 9}
        rows = self.chat.outputs.filter(answer_context=None)
        AnswerContext.objects.bulk_create(AnswerContext(output=output, **fields) for output in rows)
        chats = Chat.objects.bulk_create(
            Chat(bank=self.apollo.bank, key=f"c{n}", title=f"Chat {n}", last_output_at=NOON, private=n % 2 == 0)
            for n in range(have, to)
        )
        Conversation.objects.bulk_create(Conversation(chat=chat, owner=self.bob) for chat in chats)

    def opened(self, **query: str) -> tuple[Any, list[str]]:
        with CaptureQueriesContext(connection) as captured:
            page = self.client.get(self.chat_url(self.chat), query)
        return page, [query["sql"] for query in captured]

    def test_opening_one_takes_as_many_queries_however_long_it_is(self) -> None:
        self.grow(20)
        _, few = self.opened()
        self.grow(2000)
        page, many = self.opened()
        self.assertEqual(len(many), len(few))
        self.assertLessEqual(len(many), OPENING)
        self.assertLessEqual(sum("projects_conversation" in query and "LIMIT 41" in query for query in many), LISTING)
        self.assertContains(page, "Crate 1999?")
        self.assertNotContains(page, "Crate 1949?")
        earlier, _ = self.opened(before=page.context["older"])
        self.assertContains(earlier, "Crate 1949?")

    def test_the_list_of_chats_marks_this_one_and_is_searched(self) -> None:
        self.grow(60)
        Chat.objects.filter(pk=self.chat.pk).update(title="The harbour", last_output_at=NOON)
        page, _ = self.opened(q="harbour")
        self.assertContains(page, 'aria-current="page"><bdi>The harbour</bdi>')
        self.assertNotContains(page, "Chat 59")
        page, _ = self.opened()
        self.assertContains(page, "Earlier chats")
        self.assertContains(page, '<span class="badge">private</span>')
        self.assertContains(self.opened(q="<quokka>")[0], "No chat of yours has “&lt;quokka&gt;” in it.")

"""Turns and what their author does with them: edit, answer anew, remember, forget; and the memory they were given."""

import re
from datetime import timedelta
from itertools import product
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memorybank import llm, services
from memorybank.exceptions import LLMUnavailable
from memorybank.models import AnswerRating, Chat, Erasure, Job, Output
from memorybank.services import PublicId
from projects.chat import revisions, service
from projects.models import AnswerContext, Conversation, Draft, Membership, TenantEvent
from projects.templatetags.turn_tags import with_sources
from projects.tenancy import people
from tests.support.cast import JSON, NOON, Cast, scripted, with_chat_model, without_models
from tests.support.word_search import places

CRANE = "The zanzibar crane will be painted orange before 17 May 2026."
#: Queries that opening a chat may take, and those of its list of chats.
OPENING, LISTING = 16, 2
DEEDS = ("edit-turn", "regenerate", "continue", "show-version", "remember-now", "forget-turn")
#: Where an earlier version of a turn stays.
TURN_COLUMNS = ("memorybank.Output.question", "memorybank.Output.answer")


class TurnCase(Cast):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.chat = cls.begin_chat(cls.bob, cls.apollo)

    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.bob)

    @classmethod
    def tell(cls, question: str, answer: str = "Noted.", author: str = "bob") -> Output:
        fields = {"chat_key": cls.chat.key, "author": author, "question": question, "answer": answer}
        return services.record(cls.apollo.bank, **fields, created_at=NOON, now=NOON)  # type: ignore[arg-type]

    def url(self, name: str, output: Output) -> str:
        return reverse(name, args=["acme", "apollo", self.chat.key, output.pk])

    def post(self, name: str, output: Output, headers: dict[str, str] | None = None, **form: Any) -> Any:
        return self.client.post(self.url(name, output), form, headers=headers, follow=True)

    def questions(self) -> list[str]:
        """Those that the page shows."""
        return list(self.chat.outputs.shown().order_by("sequence").values_list("question", flat=True))

    def remembered(self) -> list[str]:
        """Where memory has the crane: everywhere but in the turns themselves."""
        return [place for place in places("zanzibar") if place not in TURN_COLUMNS]


@with_chat_model()
class ReplacingTest(TurnCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.first, cls.second, cls.third = cls.tell("Good morning."), cls.tell(CRANE), cls.tell("And the quay?")

    def test_the_page_to_edit_says_how_much_and_whose_goes(self) -> None:
        self.tell("The quay is mine.", author="tom")
        page = self.client.get(self.url("edit-turn", self.second))
        self.assertContains(page, "This replaces the message, its answer, and 2 later messages.")
        self.assertContains(page, "others wrote: tom (1).")
        self.assertContains(page, CRANE)
        self.assertContains(self.client.get(self.url("edit-turn", self.chat.outputs.latest("pk"))), "", status_code=404)

    def test_a_new_answer_leaves_when_the_message_was_edited(self) -> None:
        self.post("edit-turn", self.second, message="The crane will be red.")
        edited = self.chat.outputs.latest("pk")
        self.chat.outputs.filter(pk=edited.pk).update(created_at=NOON + timedelta(hours=1))
        page = self.post("regenerate", edited)
        self.assertRegex(page.content.decode(), "edited <time [^>]*>2 Mar 2026, 13:00</time>")

    def test_an_edited_message_takes_the_place_of_all_that_followed_and_memory_follows(self) -> None:
        services.summarise_now(self.apollo.bank, chat_key=self.chat.key)
        self.assertTrue(self.remembered())
        scripted().enqueue("Red it is.")
        page = self.post("edit-turn", self.second, message="The crane will be red.")
        self.assertEqual(self.questions(), ["Good morning.", "The crane will be red."])
        messages = [message["content"] for message in scripted().history[-1][1:]]
        self.assertEqual(messages, ["Good morning.", "Noted.", "The crane will be red."])
        self.assertEqual(self.remembered(), [])
        self.assertContains(page, "Version 2 of 2")
        self.assertRegex(page.content.decode(), r"said <time [^>]*>2 Mar 2026, 12:00</time>, edited <time ")
        self.assertNotContains(page, "This chat and memory use this version.")
        self.assertNotContains(page, CRANE)
        page = self.post("show-version", self.second)
        self.assertContains(page, "Version 1 of 2")
        self.assertContains(page, "This chat and memory use this version.")
        self.assertNotContains(page, ", edited <time")
        self.assertEqual(self.questions(), ["Good morning.", CRANE, "And the quay?"])
        services.run(bank=self.apollo.bank, now=NOON + timedelta(days=1))
        self.assertTrue(self.remembered())

    def test_to_look_at_a_version_changes_nothing_and_offers_to_use_it(self) -> None:
        services.summarise_now(self.apollo.bank, chat_key=self.chat.key)
        scripted().enqueue("Red it is.")
        self.post("edit-turn", self.second, message="The crane will be red.")
        self.apollo.bank.refresh_from_db()
        newest, version = self.chat.outputs.latest("pk"), self.apollo.bank.version
        page = self.client.get(self.chat_url(self.chat))
        [address] = re.findall(r'class="version" href="([^"#]+)#turn-', page.content.decode())
        self.assertContains(page, f"#turn-{PublicId().to_url(newest.pk)}")
        page = self.client.get(self.chat_url(self.chat) + address)
        self.assertContains(page, CRANE)
        self.assertContains(page, "You are looking at version 1. This chat and memory use version 2.")
        self.assertContains(page, self.url("show-version", self.second))
        self.assertContains(page, f'id="turn-{PublicId().to_url(newest.pk)}"')
        self.assertEqual(self.questions(), ["Good morning.", "The crane will be red."])
        self.apollo.bank.refresh_from_db()
        self.assertEqual(self.apollo.bank.version, version)
        for odd in ("nonsense", PublicId().to_url(self.first.pk)):
            self.assertNotContains(self.client.get(self.chat_url(self.chat), {"version": odd}), "You are looking")

    def test_an_earlier_version_is_shown_without_the_guide_to_the_version_used(self) -> None:
        for answer in ("Noted.", ""):
            old = self.tell("The quay is wet.", answer)
            new = self.tell("The quay is dry.", "")
            Output.objects.filter(pk=old.pk).update(set_aside=True)
            Output.objects.filter(pk=new.pk).update(replaces=[old.pk])
            with self.subTest(answer=answer), without_models:
                llm.reset()
                shown = self.client.get(self.chat_url(self.chat))
                self.assertContains(shown, "Guide, in place of a model")
                self.assertNotContains(shown, "LLM_BASE_URL")  # members cannot set it
                page = self.client.get(self.chat_url(self.chat), {"version": PublicId().to_url(old.pk)})
                self.assertContains(page, "You are looking at version 1.")
                self.assertNotContains(page, "Guide, in place of a model")
                self.assertContains(page, "Recorded without an answer.", count=0 if answer else 1)
                new.delete()

    def test_another_version_is_undone_with_one_click_because_memory_follows_the_page(self) -> None:
        scripted().enqueue("Red it is.")
        self.post("edit-turn", self.second, message="The crane will be red.")
        newest = self.chat.outputs.latest("pk")
        page = self.post("show-version", self.second, shown=PublicId().to_url(newest.pk))
        self.assertContains(page, "Memory uses this version from now on.")
        [undo] = re.findall(r'<form method="post" action="([^"]+)" class="undo">', page.content.decode())
        page = self.client.post(undo, follow=True)
        self.assertContains(page, "Version 2 of 2")
        self.assertNotContains(page, "Memory uses this version from now on.")
        self.assertEqual(self.questions(), ["Good morning.", "The crane will be red."])

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
        self.assertContains(page, "Version 3 of 3")
        self.post("show-version", self.third)
        self.assertContains(self.client.get(self.chat_url(self.chat)), "Version 1 of 3")

    def test_what_broke_off_is_shown_and_continued(self) -> None:
        lost = services.record(
            self.apollo.bank, chat_key=self.chat.key, author="bob", question="And the hall?", status="error", now=NOON
        )
        self.assertContains(self.post("continue", lost), "There is no partial answer to continue.")
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
        self.assertContains(self.post("regenerate", self.chat.outputs.latest("pk")), "there would be no answer")

    def test_a_turn_is_remembered_at_once_by_who_wrote_it(self) -> None:
        turn = self.tell(CRANE)
        self.assertContains(self.client.get(self.chat_url(self.chat)), "Remember now")
        self.assertContains(self.post("remember-now", turn), "Done: this chat will be added to memory")
        self.assertEqual(Job.objects.get().asked_by, "bob")
        services.run(bank=self.apollo.bank)
        self.assertIn("zanzibar", services.prompt_memory(self.apollo.bank).block.text)
        self.assertNotContains(self.client.get(self.chat_url(self.chat)), "Remember now")
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=(), actor="bob")
        self.assertContains(self.post("remember-now", turn), "This chat is remembered for nobody.")

    def test_a_private_chat_is_remembered_at_once_for_its_readers(self) -> None:
        bob = people.person_of(self.apollo, self.bob)
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=[bob], actor="bob")
        turn = self.tell(CRANE)
        self.assertContains(self.client.get(self.chat_url(self.chat)), "Remember now")
        self.assertContains(self.post("remember-now", turn), "Done: this chat will be added to memory")
        services.run(bank=self.apollo.bank)
        self.assertTrue(services.browse(self.apollo.bank, viewer=bob).filter(text__contains="zanzibar").exists())
        self.assertFalse(services.browse(self.apollo.bank).filter(text__contains="zanzibar").exists())

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


class StateTest(TurnCase):
    def state(self) -> Any:
        return self.client.get(reverse("chat-state", args=["acme", "apollo", self.chat.key]), headers=JSON).json()

    def test_it_says_at_any_time_whether_the_chat_is_in_memory(self) -> None:
        empty = self.state()
        self.assertEqual(empty["memory"], "")
        services.record(self.apollo.bank, chat_key=self.chat.key, author="bob", question=CRANE, answer="Noted.")
        self.chat.refresh_from_db()
        waiting = self.state()
        self.assertIn("will be remembered at ", waiting["memory"])
        self.assertNotEqual(waiting["turns"], empty["turns"])
        self.assertContains(self.client.get(self.chat_url(self.chat)), waiting["memory"])
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=(), actor="bob")
        self.assertEqual(self.state()["memory"], "Private: not remembered")
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=None, actor="bob")
        services.summarise_now(self.apollo.bank, chat_key=self.chat.key)
        self.assertEqual(self.state(), {**waiting, "memory": "remembered"})
        Chat.objects.filter(pk=self.chat.pk).update(parked_at=NOON)
        self.assertEqual(self.state()["memory"], "could not be remembered yet")
        services.disable(self.apollo.bank, actor="alice")
        self.assertEqual(self.state()["memory"], "Not remembered: memory is off")

    def test_a_chat_is_exported_as_markdown_and_json_by_its_owner_alone(self) -> None:
        self.tell("Which **crane**?", "The *orange* one.")
        services.rename_chat(self.apollo.bank, chat_key=self.chat.key, title="The crane")
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=(), actor="bob")
        address = reverse("export-chat", args=["acme", "apollo", self.chat.key])
        page = self.client.get(address)
        self.assertEqual(page["Content-Disposition"], 'attachment; filename="the-crane.md"')
        moment = f"{NOON:%Y-%m-%d %H:%M} UTC"
        parts = ["# The crane", f"{self.apollo.name} · private", f"## bob, {moment}", "Which **crane**?"]
        self.assertEqual(page.content.decode(), "\n\n".join([*parts, "### Assistant", "The *orange* one.\n"]))
        exported = self.client.get(address, {"form": "json"}).json()
        self.assertEqual((exported["title"], exported["private"]), ("The crane", True))
        [turn] = exported["turns"]
        self.assertEqual((turn["question"], turn["answer"]), ("Which **crane**?", "The *orange* one."))
        for user in (self.alice, self.charlie, self.root, self.vera):
            self.client.force_login(user)
            self.assertIn(self.client.get(address).status_code, (403, 404))
            self.assertIn(self.client.get(address, {"form": "json"}).status_code, (403, 404))

    @with_chat_model()
    def test_one_person_has_one_rating_of_an_answer_and_may_change_it(self) -> None:
        service.answer(service.ask(self.apollo, self.chat, "Which crane?", "bob"))
        turn = self.chat.outputs.get()
        for posted, stored in (("yes", [True]), ("yes", [True]), ("no", [False]), ("", []), ("no", [False])):
            page = self.post("rate-answer", turn, helpful=posted)
            ratings = AnswerRating.objects.filter(output=turn, person="bob", model="scripted")
            self.assertEqual(list(ratings.values_list("helpful", flat=True)), stored)
            self.assertEqual(AnswerRating.objects.count(), len(stored))
        self.assertContains(page, 'aria-pressed="true"', count=1)
        self.assertEqual(self.post("rate-answer", turn, JSON, helpful="yes").json(), {"helpful": True})
        export = self.client.get(reverse("export-chat", args=["acme", "apollo", self.chat.key]), {"form": "json"})
        self.assertEqual(export.json()["turns"][0]["helpful"], {"bob": True})
        rows = services.export(self.apollo.bank, actor="alice")
        [rating] = [row for row in rows if row["type"] == "rating"]
        self.assertEqual((rating["output"], rating["person"], rating["helpful"]), (1, "bob", True))
        self.client.force_login(self.alice)
        self.assertEqual(self.post("rate-answer", turn, helpful="no").status_code, 404)

    def test_a_question_without_an_answer_has_no_rating(self) -> None:
        turn = self.tell("Which crane?", answer="")
        self.assertEqual(self.post("rate-answer", turn, helpful="yes").status_code, 404)
        self.assertNotContains(self.client.get(self.chat_url(self.chat)), "Rate this answer")

    def test_ratings_go_with_their_turn_and_with_the_words_of_their_person(self) -> None:
        hers, his = self.tell("Which crane?", author="alice"), self.tell("And the quay?")
        for output, person in ((hers, "alice"), (hers, "bob"), (his, "bob"), (his, "alice")):
            services.rate_answer(self.apollo.bank, output=output.pk, person=person, helpful=True)
        services.erase(self.apollo.bank, author="alice", actor="bob")
        self.assertEqual(list(AnswerRating.objects.values_list("output", "person")), [(his.pk, "bob")])

    def test_a_shared_chat_is_read_by_members_until_that_ends_and_memory_stays_as_it_was(self) -> None:
        self.tell(CRANE)
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=["bob-key"], actor="bob")
        quoting = self.tell("And inside?", "A private colour.")
        Output.objects.filter(pk=quoting.pk).update(quotes_private=True)
        withheld = self.tell("Forget the blue box.")
        Output.objects.filter(pk=withheld.pk).update(erasure_requested=True)
        services.rename_chat(self.apollo.bank, chat_key=self.chat.key, title="The blue box")
        place = ["acme", "apollo", self.chat.key]
        read, share = reverse("read-chat", args=place), reverse("share-chat", args=place)
        members = (self.alice, self.vera)
        for user in members:
            self.assertEqual(self.status_for(user, read), 404)
        self.client.force_login(self.bob)
        for _ in range(2):
            self.assertContains(self.client.post(share, {"share": "on"}, follow=True), read)
        for user in members:
            self.client.force_login(user)
            page = self.client.get(read)
            self.assertContains(page, "zanzibar crane")
            self.assertContains(page, "This answer is left out")
            self.assertNotContains(page, "private colour")
            self.assertNotContains(page, "blue box")
            self.assertRedirects(self.client.get(self.chat_url(self.chat)), read)
            self.assertEqual(self.client.post(share).status_code, 403 if user == self.vera else 404)
        for user in (self.charlie, self.root):
            self.assertEqual(self.status_for(user, read), 404)
        self.assertEqual(services.readers_of(Chat.objects.get(pk=self.chat.pk)), {"bob-key"})
        Membership.objects.filter(user=self.bob).update(tenant=self.globex)
        self.assertEqual(self.status_for(self.alice, read), 404)
        Membership.objects.filter(user=self.bob).update(tenant=self.acme)
        self.assertEqual(self.status_for(self.alice, read), 200)
        self.client.force_login(self.bob)
        self.client.post(share)
        self.assertEqual(self.status_for(self.alice, read), 404)
        logged = TenantEvent.objects.filter(tenant=self.acme).order_by("number").values_list("actor", "action")
        self.assertEqual(list(logged), [("bob", "share"), ("bob", "unshare")])

    def status_for(self, user: User, address: str) -> int:
        self.client.force_login(user)
        return int(self.client.get(address).status_code)

    def test_an_answer_s_source_is_plain_text_and_for_the_owner_alone(self) -> None:
        turn = self.tell(CRANE, "**Noted** <b>.")
        page = self.client.get(self.url("answer-source", turn))
        self.assertEqual((page.content, page["Content-Type"]), (b"**Noted** <b>.", "text/plain; charset=utf-8"))
        for user in (self.alice, self.charlie, self.root):
            self.client.force_login(user)
            self.assertEqual(self.client.get(self.url("answer-source", turn)).status_code, 404)


@with_chat_model()
class MemoryUsedTest(TurnCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.remember(cls.apollo, "alice", CRANE)
        cls.remember(cls.apollo, "bob", "The night ferry to Lisbon leaves at 19:30.", chat_key="ferry")
        Conversation.objects.create(chat=Chat.objects.get(key="ferry"), owner=cls.bob)

    def setUp(self) -> None:
        super().setUp()
        self.turn = self.answered(self.bob, self.chat)

    def answered(self, user: User, chat: Chat) -> Output:
        scripted().enqueue("Orange.")
        self.say(user, chat, "Which colour has the zanzibar crane?")
        return chat.outputs.get()

    def used(self) -> Any:
        return self.client.get(self.url("used", self.turn))

    def test_a_line_that_was_added_by_hand_says_who_wrote_it_and_when(self) -> None:
        self.chat = self.begin_chat(self.bob, self.apollo)
        services.add_fact(self.apollo.bank, text="The wombat is in Porto.", actor="alice", now=NOON)
        self.turn = self.answered(self.bob, self.chat)
        self.assertContains(self.used(), "Written by hand by alice, 2 March 2026", count=1)

    def test_each_line_leads_to_its_source_as_far_as_she_may_see_it(self) -> None:
        page = self.used()
        ferry = Output.objects.get(chat__key="ferry")
        self.assertContains(page, "zanzibar crane")
        lines = {used.line.text: used for used in page.context["block_lines"]}
        self.assertIn("/chats/ferry/?before=", lines[ferry.question].own_turns[0])
        self.assertEqual([lines[CRANE].own_turns, lines[CRANE].why], [[], ""])
        self.assertContains(page, "are from chats that you cannot open.", count=1)
        self.assertNotContains(page, "From a chat that you cannot open.")
        report = self.url("used", self.turn)
        [wrong] = re.findall(r'href="([^"]+/mine/[^"]+)">This is wrong', page.content.decode())[:1]
        form = self.client.get(wrong)
        self.assertContains(form, f'<input type="hidden" name="next" value="{report}">')
        line = {"do": "object", "next": report, "fact": PublicId().to_url(lines[CRANE].wrong), "reason": "It is blue."}
        sent = self.client.post(reverse("memory-mine-decide", args=["acme", "apollo"]), line, follow=True)
        self.assertRedirects(sent, f"{report}#line-{line['fact']}")
        self.assertContains(sent, "Sent to the owners and admins: alice")
        self.assertNotContains(page, "The messages it came from have been deleted.")
        self.chat = self.begin_chat(self.alice, self.apollo)
        self.turn = self.answered(self.alice, self.chat)
        why = {line.why for line in self.used().context["block_lines"]}
        self.assertTrue(all(self.client.get(address).status_code == 200 for address in why))

    def test_a_sentence_that_uses_a_line_has_its_number_which_leads_to_it(self) -> None:
        said = "It will be painted orange **before 17 May**."
        scripted().enqueue(f"Hello. {said}\n\n[Docs](https://example.org) <b>it</b>")
        self.say(self.bob, self.chat, "And when will that be?")
        self.turn = self.chat.outputs.get(question__startswith="And when")
        [[offset, _place]] = self.turn.answer_context.cited
        self.assertEqual(self.turn.answer[:offset], f"Hello. {said}")
        page = self.client.get(self.chat_url(self.chat)).content.decode()
        [target] = re.findall(r'May</strong>\.<a class="cite" href="([^"]+)" aria-label="Source \[1\]">\[1\]</a>', page)
        self.assertIn("&lt;b&gt;", page)
        self.assertEqual(target.partition("#")[0], self.url("used", self.turn))
        used = self.used()
        self.assertContains(used, f'id="{target.partition("#")[2]}"', count=1)
        [[number, source]] = used.context["sources"]
        self.assertEqual((number, source.line.text, source.number), (1, CRANE, 1))
        services.erase(self.apollo.bank, chat="told", actor="alice")
        self.assertEqual(self.used().context["sources"], [(1, None)])
        self.assertContains(self.used(), "[1]", count=1)
        self.turn.answer = "Gone."  # whatever became of it, a mark stands behind a sentence of it or nowhere
        self.assertNotIn("cite", with_sources(self.turn, ""))

    def test_the_memory_used_for_an_answer_loses_what_is_erased_hidden_or_made_private(self) -> None:
        services.erase(self.apollo.bank, chat="told", actor="alice")
        self.assertNotContains(self.used(), "orange")
        self.assertGreater(self.used().context["missing"], 0)
        services.set_audience(self.apollo.bank, chat_key="ferry", readers=(), actor="bob")
        page = self.used()
        self.assertEqual([page.context["block_lines"], page.context["notes"]], [[], []])
        self.assertNotIn("zanzibar", str(list(AnswerContext.objects.values())))

    def test_nobody_else_sees_the_memory_used_for_an_answer(self) -> None:
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
        earlier, _ = self.opened(before=page.context["older"].removeprefix("?before="))
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

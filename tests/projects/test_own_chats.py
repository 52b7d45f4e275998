"""A member and her own chats: private from the start, named by hand, deleted with all that memory had of them."""

from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from memorybank import services
from memorybank.models import Chat, Erasure, Event, Fact, Output
from projects.models import Conversation
from tests.base import Cast, without_models
from tests.memorybank.everywhere import places

CRANE = "The zanzibar crane will be painted orange before 17 May 2026."
FERRY = "The night ferry to Lisbon leaves at 19:30."


@without_models
class OwnChatsTest(Cast):
    def setUp(self) -> None:
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", CRANE)
        self.remember(self.apollo, "tom", FERRY, chat_key="other")
        self.chat = Chat.objects.get(key="told")
        Conversation.objects.create(chat=self.chat, owner=self.bob)

    def post(self, user: User, name: str, **form: Any) -> Any:
        self.client.force_login(user)
        return self.client.post(self.chat_url(self.chat, name), form, follow=True)

    def test_deleting_is_looked_at_first_then_done_and_leaves_nothing(self) -> None:
        page = self.post(self.bob, "delete-chat")
        self.assertContains(page, "Nothing is deleted yet")
        self.assertContains(page, "<b>1</b> turn</li>")
        self.assertNotContains(page, "said by others")
        self.assertTrue(places("zanzibar"))
        self.assertFalse(Erasure.objects.exists())
        page = self.post(self.bob, "delete-chat", sure="yes")
        self.assertRedirects(page, reverse("project", args=["acme", "apollo"]))
        self.assertContains(page, "Deleted, with all that memory had of it: 1 chat, 1 turn")
        self.assertEqual(places("zanzibar"), [])
        self.assertEqual(Erasure.objects.get().asked_by, "bob")
        self.assertFalse(Conversation.objects.exists())
        self.assertTrue(Fact.objects.filter(text=FERRY).exists())
        self.assertEqual(self.post(self.bob, "delete-chat", sure="yes").status_code, 404)

    def test_it_says_how_much_of_it_others_said_and_deletes_one_that_nobody_wrote_in(self) -> None:
        Output.objects.update(author="tom")
        self.assertContains(self.post(self.bob, "delete-chat"), "1 of the turns was said by others")
        self.chat = self.begin_chat(self.bob, self.apollo)
        self.assertEqual(self.post(self.bob, "delete-chat", sure="yes").status_code, 200)
        self.assertFalse(Chat.objects.filter(pk=self.chat.pk).exists())

    def test_nobody_else_renames_or_deletes_it_and_no_viewer(self) -> None:
        for name in ("rename-chat", "delete-chat"):
            form = {"title": "Mine", "sure": "yes"}
            answers = [self.post(user, name, **form).status_code for user in (self.alice, self.charlie, self.root)]
            self.assertEqual(answers, [404, 404, 404])
            self.assertEqual(self.post(self.vera, name, **form).status_code, 403)
        self.assertEqual(Chat.objects.get(key="told").title, "")

    def test_it_is_renamed_in_place_and_erasure_takes_a_title_by_hand_too(self) -> None:
        self.assertContains(
            self.post(self.bob, "rename-chat", title=" The zanzibar <crane> "), "zanzibar &lt;crane&gt;"
        )
        for wrong, said in ((" ", "A title needs a word."), ("x" * 201, "at most 200 characters")):
            self.assertContains(self.post(self.bob, "rename-chat", title=wrong), said)
        self.assertEqual(Chat.objects.get(key="told").title, "The zanzibar <crane>")
        self.say(self.bob, self.chat, "And who paints it?")
        self.assertEqual(Chat.objects.get(key="told").title, "The zanzibar <crane>")
        services.forget(self.apollo.bank, output=Output.objects.earliest("pk").pk, actor="bob")
        self.assertEqual(Chat.objects.get(key="told").title, "")

    def test_a_chat_begun_as_private_never_reaches_memory(self) -> None:
        self.client.force_login(self.bob)
        page = self.client.post(reverse("new-chat", args=["acme", "apollo"]), {"private": "on"}, follow=True)
        chat = page.context["chat"]
        self.assertContains(page, "this chat is private")
        self.say(self.bob, chat, "The quokka contract was signed on 3 March 2026.")
        services.run(bank=self.apollo.bank)
        services.reindex(self.apollo.bank)
        self.assertEqual({place.split(".")[1] for place in places("quokka")}, {"Output", "Chat"})
        self.assertNotIn("quokka", services.prompt_memory(self.apollo.bank, question="quokka contract").recalled.text)
        self.assertEqual(Event.objects.filter(action=Event.Action.PUBLIC).count(), 0)

    def test_a_private_chat_and_a_shared_one_that_are_unused_are_not_taken_for_each_other(self) -> None:
        self.client.force_login(self.bob)
        begun = [
            self.client.post(reverse("new-chat", args=["acme", "apollo"]), form)["Location"]
            for form in ({}, {"private": "on"}, {}, {"private": "on"})
        ]
        self.assertEqual((begun[0], begun[1]), (begun[2], begun[3]))
        self.assertNotEqual(begun[0], begun[1])
        self.assertEqual(
            sorted(Chat.objects.filter(last_output_at=None).values_list("private", flat=True)), [False, True]
        )

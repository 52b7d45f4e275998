"""What becomes of a person's chats when the account is deleted: they stay a person's, locked for everybody."""

from django.urls import reverse
from django.utils import timezone

from memorybank import services
from projects.models import Conversation
from projects.tenancy import api_keys
from tests.support.cast import Cast, without_models


@without_models
class DeletedAccountTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.chat = self.begin_chat(self.bob, self.apollo)
        services.set_audience(self.apollo.bank, chat_key=self.chat.key, readers=(), actor="bob")
        scopes = ["read", "write", "admin"]
        _, self.key = api_keys.issue(self.apollo, "desk", scopes, actor="alice", now=timezone.now())

    def delete(self) -> None:
        self.client.force_login(self.root)
        url = reverse("admin:auth_user_delete", args=[self.bob.pk])
        self.assertContains(
            self.client.get(url), "Chats that stay, locked for everybody (to erase them, forget this author first): 1"
        )
        self.assertEqual(self.client.post(url, {"post": "yes"}).status_code, 302)
        self.client.logout()

    def test_no_key_opens_renames_or_writes_to_a_chat_of_a_deleted_account(self) -> None:
        self.delete()
        key = {"Authorization": f"Bearer {self.key}"}
        url = f"/api/v1/chats/{self.chat.key}"
        outputs = {"chat": self.chat.key, "author": "eve", "question": "Hello?", "answer": "Yes."}
        json = "application/json"
        self.assertEqual(self.client.get(url, headers=key).status_code, 404)
        self.assertEqual(self.client.get(f"{url}/outputs", headers=key).status_code, 404)
        self.assertEqual(self.client.patch(url, {"private": False}, json, headers=key).status_code, 404)
        self.assertGreaterEqual(self.client.post("/api/v1/outputs", outputs, json, headers=key).status_code, 400)
        listed = self.client.get("/api/v1/chats", headers=key).json()
        self.assertNotIn(self.chat.key, str(listed))
        self.chat.refresh_from_db()
        self.assertTrue(self.chat.private)
        self.assertFalse(self.chat.outputs.exists())

    def test_no_member_opens_a_chat_of_a_deleted_account(self) -> None:
        self.delete()
        self.assertIsNone(Conversation.objects.get(chat=self.chat).owner)
        for user in (self.alice, self.vera, self.root):
            self.client.force_login(user)
            self.assertIn(self.client.get(self.chat_url(self.chat)).status_code, (403, 404))

    def test_the_admin_history_does_not_reveal_which_accounts_exist(self) -> None:
        self.client.force_login(self.alice)
        for pk in (self.bob.pk, 10**6):
            self.assertEqual(self.client.get(reverse("admin:auth_user_history", args=[pk])).status_code, 403)

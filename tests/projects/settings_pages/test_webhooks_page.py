"""An owner adds, tests, pauses and deletes webhooks, and downloads an export."""

import json
from collections.abc import Iterable
from typing import cast

from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from memorybank import services
from projects.models import Delivery, Webhook
from projects.templatetags.address_tags import breakable
from projects.webhooks.delivering import deliver_due
from tests.support.cast import NOON, Cast, without_models

PROJECT_SLUGS = ["acme", "apollo"]
PAGE, CHANGE = reverse("project-webhooks", args=PROJECT_SLUGS), reverse("project-webhook", args=PROJECT_SLUGS)


@without_models
class WebhooksPageTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.alice)

    def do(self, what: str) -> None:
        self.client.post(CHANGE, {"webhook": services.public_id(Webhook.objects.get().pk), "do": what})

    @override_settings(WEBHOOK_PRIVATE_ADDRESSES=True)
    def test_a_webhook_is_added_tested_paused_and_deleted(self) -> None:
        added = self.client.post(PAGE, {"url": "http://127.0.0.1:9/memory", "events": ["cap.near"]})
        self.assertContains(added, Webhook.objects.get().secret)
        self.assertNotContains(self.client.get(PAGE), "whsec_")
        self.do("test")
        self.assertContains(self.client.get(PAGE), "waiting")
        self.assertEqual(deliver_due(timezone.now()), 1)
        self.assertEqual(Delivery.objects.get().event, "test")
        self.assertContains(self.client.get(PAGE), "failed: ConnectError, after 1 attempt")
        self.do("pause")
        self.assertContains(self.client.get(PAGE), "Resume")
        self.do("resume")
        self.assertIsNone(Webhook.objects.get().disabled_at)
        self.do("delete")
        self.assertFalse(Webhook.objects.exists())

    def test_nobody_changes_a_webhook_without_the_role_or_through_another_project(self) -> None:
        made = {"secret": "x", "created_by": "alice", "created_at": NOON}
        hook = Webhook.objects.create(project=self.apollo, url="https://hooks.example/", **made)
        through_zeus = reverse("project-webhook", args=["globex", "zeus"])
        refusals = ((self.bob, CHANGE, 403), (self.vera, CHANGE, 403), (self.charlie, CHANGE, 404))
        for user, address, status in (*refusals, (self.charlie, through_zeus, 404)):
            for do in ("test", "pause", "delete"):
                with self.subTest(user=user.username, do=do, address=address):
                    self.client.force_login(user)
                    answer = self.client.post(address, {"webhook": services.public_id(hook.pk), "do": do})
                    self.assertEqual(answer.status_code, status)
        hook.refresh_from_db()
        self.assertEqual((hook.disabled_at, Delivery.objects.count()), (None, 0))

    @override_settings(WEBHOOK_PRIVATE_ADDRESSES=True)
    def test_all_events_are_chosen_at_first_and_none_is_refused(self) -> None:
        [url, events] = self.client.get(PAGE).context["form"]
        self.assertTrue(all("checked" in choice.tag() for choice in events))
        none = self.client.post(PAGE, {"url": "http://127.0.0.1:9/memory"})
        self.assertContains(none, "This field is required.", status_code=400)
        for chosen, stored in ((events.value(), []), (["cap.near"], ["cap.near"])):
            self.client.post(PAGE, {"url": "http://127.0.0.1:9/memory", "events": chosen})
            self.assertEqual(Webhook.objects.latest("pk").events, stored)

    def test_a_long_address_is_broken_between_its_parts(self) -> None:
        self.assertEqual(
            breakable("https://a.example/b?c=<d>"), "https://<wbr>a.<wbr>example/<wbr>b?<wbr>c=<wbr>&lt;d&gt;<wbr>"
        )

    def test_an_address_that_is_not_public_is_refused_in_words(self) -> None:
        answer = self.client.post(PAGE, {"url": "https://127.0.0.1/", "events": ["cap.near"]})
        self.assertContains(answer, "the address is not public", status_code=400)
        self.assertFalse(Webhook.objects.exists())

    def test_an_export_has_memory_and_own_chats_and_nobody_elses(self) -> None:
        self.switch_on(self.apollo)
        self.remember(self.apollo, "desk", "The pump in hall four was replaced on 3 May by Harms.")
        for user, question in ((self.alice, "Mine?"), (self.bob, "Kitahama?")):
            chat = self.begin_chat(user, self.apollo)
            services.record(
                self.apollo.bank, chat_key=chat.key, author=user.username, question=question, answer="Yes.", now=NOON
            )
        address = reverse("project-export", args=PROJECT_SLUGS)
        answer = self.client.post(address)
        self.assertIn("acme-apollo.jsonl", answer["Content-Disposition"])
        text = b"".join(cast("Iterable[bytes]", answer.streaming_content)).decode()
        rows = [json.loads(line) for line in text.splitlines()]
        self.assertEqual({"bank", "chat", "output", "entry", "fact"}, {row["type"] for row in rows})
        self.assertIn("Mine?", text)
        self.assertNotIn("Kitahama", text)
        self.client.force_login(self.bob)
        self.assertEqual(self.client.post(address).status_code, 403)

"""Upstreams of projects: keys are encrypted and never shown, only superusers set addresses, silence gets heartbeats."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import islice
from typing import Any

import pytest
from django.test import override_settings
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from memorybank.exceptions import InvalidInput
from projects.gateway.refusals import Refusal
from projects.gateway.upstream.targets import target_of
from projects.models import Upstream
from projects.models.encryption import decrypt, encrypt
from projects.web.polling import with_heartbeat
from tests.projects.admin.test_admin import AdminCase

UPSTREAM_KEY, OTHER_KEY, OPENAI = "sk-of-apollo", "y" * 60, "openai"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_what_is_sealed_is_read_again_and_stands_nowhere(secret: str) -> None:
    sealed = encrypt(secret)
    assert decrypt(sealed) == secret
    assert len(secret) < 4 or secret not in sealed


def test_a_new_secret_key_reads_what_the_old_one_sealed_while_it_is_named() -> None:
    with override_settings(SECRET_KEY=OTHER_KEY):
        sealed = encrypt(UPSTREAM_KEY)
    with override_settings(SECRET_KEY_FALLBACKS=[OTHER_KEY]):
        assert decrypt(sealed) == UPSTREAM_KEY
    with pytest.raises(InvalidInput, match="Enter it again"):
        decrypt(sealed)


def test_silence_is_filled_with_pulses_and_nothing_is_lost() -> None:
    async def heard(pulses: int) -> list[bytes]:
        spoken = asyncio.Event()

        async def chunks() -> AsyncGenerator[bytes, None]:
            yield b"one"
            await spoken.wait()
            yield b"two"

        received: list[bytes] = []
        async for chunk in with_heartbeat(chunks(), seconds=0.001, beat=b""):
            received.append(chunk)
            if received.count(b"") == pulses:
                spoken.set()
        return received

    received = asyncio.run(heard(3))
    assert (received[0], received[-1], set(islice(received, 1, len(received) - 1))) == (b"one", b"two", {b""})


class UpstreamAdminTest(AdminCase):
    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.root)

    def send(self, url: str, **fields: str) -> Any:
        given = {
            "project": self.apollo.pk,
            "protocol": "openai",
            "base_url": "https://apollo.example/v1",
            "allowed": "",
        }
        return self.client.post(url, {**given, **fields})

    def add(self) -> Upstream:
        self.send(reverse("admin:projects_upstream_add"), new_key=UPSTREAM_KEY, allowed="small\n\n large ")
        return Upstream.objects.get()

    def test_the_key_goes_in_sealed_and_never_comes_out(self) -> None:
        upstream = self.add()
        self.assertEqual(upstream.api_key, UPSTREAM_KEY)
        self.assertNotIn(UPSTREAM_KEY, str(Upstream.objects.values()))
        for url in (self.change_url(upstream), self.list_url(Upstream)):
            self.assertNotContains(self.client.get(url), UPSTREAM_KEY)
            self.assertNotContains(self.client.get(url), upstream.sealed_key)

    def test_it_is_where_requests_go_with_the_models_that_may_be_asked(self) -> None:
        self.add()
        target = target_of(self.apollo, OPENAI)
        self.assertEqual(target.url("chat/completions"), "https://apollo.example/v1/chat/completions")
        self.assertEqual(target.headers, {"authorization": f"Bearer {UPSTREAM_KEY}"})
        target.require_model("large")
        with self.assertRaisesMessage(Refusal, "may not use it"):
            target.require_model("huge")

    def test_a_form_without_a_key_keeps_the_one_it_has(self) -> None:
        upstream = self.add()
        self.send(self.change_url(upstream), base_url="https://other.example/v1")
        upstream.refresh_from_db()
        self.assertEqual((upstream.base_url, upstream.api_key), ("https://other.example/v1", UPSTREAM_KEY))

    def test_what_is_no_address_is_refused_with_an_example(self) -> None:
        for address in ("apollo.example", "ftp://apollo.example", "https://", "https://a.example/v1?key=1"):
            page = self.send(reverse("admin:projects_upstream_add"), base_url=address)
            self.assertContains(page, "An address such as https://api.openai.com/v1.")
        self.assertFalse(Upstream.objects.exists())

    def test_owners_see_where_it_goes_and_change_nothing(self) -> None:
        upstream = self.add()
        self.client.force_login(self.alice)
        page = self.client.get(self.change_url(upstream))
        self.assertContains(page, "https://apollo.example/v1")
        self.assertNotContains(page, "new_key")
        self.assertEqual(self.send(self.change_url(upstream), base_url="https://evil.example").status_code, 403)
        self.assertEqual(self.client.get(reverse("admin:projects_upstream_add")).status_code, 403)

    def test_a_key_that_cannot_be_read_any_more_is_refused_in_one_line(self) -> None:
        self.add()
        with override_settings(SECRET_KEY=OTHER_KEY), self.assertRaisesMessage(Refusal, "Enter it again") as refused:
            target_of(self.apollo, OPENAI)
        self.assertEqual(refused.exception.status, 503)

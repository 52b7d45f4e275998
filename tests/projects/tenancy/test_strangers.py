"""Every address of the site, asked by a stranger: whoever adds a page need not think of strangers, this does."""

import re
from collections.abc import Iterator
from io import BytesIO
from itertools import product
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpResponseBase
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.resolvers import RoutePattern

from memorybank import services
from memorybank.models import Chat, Entry, Erasure, ErasureRequest, Event, Fact, Job, LLMCall, Output
from memorybank.services import public_id
from projects.importing import runs
from projects.models import APIKey, Invitation, Membership, Role, TenantEvent, Upstream, Webhook
from projects.tenancy import api_keys, audit, permissions
from projects.web.lazy_urls import LazyInclude
from tests.projects.admin.test_admin import AdminCase
from tests.projects.importing.test_exports import fixture
from tests.support.cast import NOON, without_models
from tests.support.requirements import some

#: What of Acme no stranger may read, wherever it stands.
NAMES = ("acme", "Acme", "apollo", "Apollo", "bob", "Grimsvale", "erin@example.com")
#: Random letters, which may spell a name.
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')


def patterns(resolver: URLResolver | None = None) -> Iterator[URLPattern]:
    """All addresses but the admin's, and those of programs, which no session opens."""
    for url_pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(url_pattern, URLPattern):
            yield url_pattern
        elif url_pattern.namespace != "admin" and not isinstance(url_pattern, LazyInclude):
            yield from patterns(url_pattern)


def pages() -> Iterator[URLPattern]:
    """What people open, and no program's key."""
    return (pattern for pattern in patterns() if pattern.name not in permissions.URL_SCOPES)


def of_programs(resolver: URLResolver | None = None) -> Iterator[URLPattern]:
    """All addresses of programs."""
    for url_pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(url_pattern, LazyInclude):
            yield from url_pattern.url_patterns
        elif isinstance(url_pattern, URLResolver):
            yield from of_programs(url_pattern)


def registered() -> list[type[Model]]:
    """Our models in the admin."""
    return [model for model in admin.site._registry if model._meta.app_label in ("projects", "memorybank")]


def pages_of(model: type[Model]) -> list[URLPattern]:
    """Every address in the admin that begins with a model of ours, those that we add as well."""
    return [url for url in admin.site._registry[model].get_urls() if url.name]


@without_models
class Everything(AdminCase):
    """Something of everything in Acme, so that every page is about something that is there."""

    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        bank = cls.apollo.bank
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", "The launch is on 17 May 2026 in Grimsvale.")
        cls.chat = cls.begin_chat(cls.bob, cls.apollo)
        turn = {"chat_key": cls.chat.key, "author": "bob", "question": "Grimsvale?", "key": "sent"}
        cls.turn = services.record(bank, **turn, status=Output.Status.ERROR, now=NOON)
        invited = {"email": "erin@example.com", "role": "member", "invited_by": cls.alice, "sent_at": NOON}
        Invitation.objects.create(tenant=cls.acme, **invited)
        cls.adam = cls.person("adam", cls.acme, Role.ADMIN, is_staff=True)
        audit.log(cls.acme, "alice", audit.TenantAction.ADD, NOON, person="bob")
        Upstream.objects.create(project=cls.apollo, protocol="openai", base_url="https://apollo.example/v1")
        api_keys.issue(cls.apollo, "apollo", ["read"], actor="alice", now=NOON)
        address = "https://hooks.example/apollo"
        Webhook.objects.create(project=cls.apollo, url=address, secret="x", created_by="alice", created_at=NOON)
        erased = {"asked_by": "bob", "epoch": 1, "at": NOON, "counts": {"turns": 1}}
        Erasure.objects.create(bank=bank, kind="chat", subject="x", **erased)
        fields = {"author": "bob", "outputs": [cls.turn.pk], "asked_at": NOON, "asked_in": cls.turn.pk}
        ErasureRequest.objects.create(bank=bank, chat=cls.chat, **fields)
        LLMCall.objects.create(bank=bank, purpose="summary", model="apollo", outcome="ok", at=NOON)
        cls.imported = runs.read(cls.apollo, BytesIO(fixture("claude")), "c.json", actor="alice", now=NOON)
        services.request_job(bank, Job.Kind.COMPRESS, actor="bob", now=NOON)

    def ours(self, model: type[Model]) -> Any:
        """A row of Acme; whoever registers a new model says here which."""
        bank = {"bank": self.apollo.bank}
        rows = {Fact: {"entry__bank": self.apollo.bank}, Membership: {"user": self.bob}, Chat: {"pk": self.chat.pk}}
        known = {type(item): item for item in (self.acme, self.apollo, self.apollo.bank)}
        if model in known:
            return known[model]
        of_project = {"project": self.apollo}
        rows |= {TenantEvent: {"tenant": self.acme}, APIKey: of_project, Upstream: of_project}
        return model._default_manager.filter(**rows.get(model, bank)).latest("pk")

    def address(self, pattern: URLPattern, chat: Chat | None = None) -> str:
        """Of what is really there; a page with something new in its address says here what."""
        values = {
            "tenant": "acme",
            "project": "apollo",
            "token": "x:y:z",
            "uidb64": "x",
            "key": (chat or self.chat).key,
        }
        values |= {"turn": self.turn.pk, "fact": Fact.objects.latest("pk").pk, "entry": Entry.objects.latest("pk").pk}
        values |= {
            "language": "de",
            "model": "small",
            "path": "files",
            "sent": "sent",
            "id": "resp_1",
            "item": "msg_1",
            "run": self.imported.pk,
            "receipt": Erasure.objects.latest("pk").pk,
        }
        return reverse(str(pattern.name), kwargs={name: values[name] for name in pattern.pattern.converters})

    def admin_address(self, pattern: URLPattern, model: type[Model]) -> str:
        """A page of the admin, about a row of Acme if it is about one."""
        assert isinstance(pattern.pattern, RoutePattern)
        args = [self.ours(model).pk for _ in pattern.pattern.converters]
        return reverse(f"admin:{pattern.name}", args=args)

    def ask(self, address: str, method: str) -> HttpResponseBase:
        """Signed in as whoever is."""
        answer: Any = getattr(self.client, method)(address)
        return answer  # type: ignore[no-any-return]


class WalkTest(Everything):
    def assert_nothing(self, answer: Any) -> None:
        if answer.status_code == 200:
            shown = TOKEN.sub("", answer.content.decode())
            self.assertEqual([name for name in NAMES if name in shown], [])

    def test_a_stranger_finds_nothing_anywhere(self) -> None:
        for pattern, user, method in some(product(pages(), (self.charlie, None), ("get", "post")), one_in=3):
            with self.subTest(page=pattern.name, method=method, user=user and user.username):
                self.client.force_login(user) if user else self.client.logout()  # one of the pages signs out
                answer = self.ask(self.address(pattern), method)
                if pattern.name not in permissions.PUBLIC_URLS:
                    self.assertIn(answer.status_code, (404, 405) if user else (302, 404, 405))
                self.assert_nothing(answer)

    def test_the_admin_shows_a_stranger_nothing_on_any_page(self) -> None:
        events = Event.objects.count()
        all_pages = [(model, pattern) for model in registered() for pattern in pages_of(model)]
        for (model, pattern), method in some(product(all_pages, ("get", "post")), one_in=3):
            with self.subTest(page=pattern.name, method=method):
                self.client.force_login(self.charlie)
                answer = self.ask(self.admin_address(pattern, model), method)
                if pattern.pattern.converters:
                    self.assertIn(answer.status_code, (302, 403, 404))
                self.assert_nothing(answer)
        self.assertEqual(Event.objects.count(), events)

    def test_a_list_that_is_searched_ordered_or_filtered_shows_a_stranger_nothing(self) -> None:
        self.client.force_login(self.charlie)
        bank = f"?bank={public_id(self.apollo.bank_id)}"
        queries = ("?q=a", "?o=1", bank, "?_facets=True", "?tenant__id__exact=1")
        for model, query in some(product(registered(), queries), one_in=3):
            with self.subTest(model=model, query=query):
                self.assert_nothing(self.client.get(self.list_url(model) + query))

    def test_an_action_touches_no_row_that_a_stranger_chooses_by_hand(self) -> None:
        events = Event.objects.count(), TenantEvent.objects.count()
        request = RequestFactory().get("/")
        request.user = self.charlie
        for model in registered():
            for name in admin.site._registry[model].get_actions(request):
                with self.subTest(model=model, action=name):
                    self.client.force_login(self.charlie)
                    chosen = {"action": name, "_selected_action": [self.ours(model).pk], "post": "yes"}
                    self.assert_nothing(self.client.post(self.list_url(model), chosen, follow=True))
                    self.assertTrue(model._default_manager.filter(pk=self.ours(model).pk).exists())
        self.assertEqual((Event.objects.count(), TenantEvent.objects.count()), events)

"""The users of the tests: Alice owns Acme, Bob is a member, Vera may only read; Charlie must not see its data."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.test import TestCase, override_settings
from django.urls import reverse

from memorybank import llm, services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat
from projects.chat import service
from projects.models import Membership, Project, Role, Tenant

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
#: The headers of a request for JSON.
JSON = {"Accept": "application/json"}


def scripted() -> ScriptedLLM:
    """The chat model of :func:`with_chat_model`, for queueing answers and reading the recorded prompts."""
    model = llm.get("chat")
    assert isinstance(model, ScriptedLLM)
    return model


def with_chat_model(name: str = "scripted") -> Any:
    """A decorator that configures a scripted model for chats, and none for summaries."""
    options = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": name}
    return override_settings(
        MEMORYBANK={"LLMS": {"chat": options}, "BANKS_FOR_USER": "projects.tenancy.permissions.banks_for"}
    )


without_models = override_settings(
    MEMORYBANK={name: settings.MEMORYBANK[name] for name in ("BANKS_FOR_USER", "ON_CHANGE")}
)


@override_settings(STATIC_ROOT="")  # WhiteNoise would warn, because tests collect no static files
class Cast(TestCase):
    """Two tenants that must not see each other: Acme (Alice, Bob, Vera) and Globex (Charlie)."""

    alice: ClassVar[User]
    bob: ClassVar[User]
    vera: ClassVar[User]
    charlie: ClassVar[User]
    root: ClassVar[User]
    acme: ClassVar[Tenant]
    globex: ClassVar[Tenant]
    apollo: ClassVar[Project]
    zeus: ClassVar[Project]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.acme = Tenant.objects.create(slug="acme", name="Acme")
        cls.globex = Tenant.objects.create(slug="globex", name="Globex")
        cls.alice = cls.person("alice", cls.acme, Role.OWNER, is_staff=True)
        cls.bob = cls.person("bob", cls.acme, Role.MEMBER)
        cls.vera = cls.person("vera", cls.acme, Role.VIEWER)
        cls.charlie = cls.person("charlie", cls.globex, Role.OWNER, is_staff=True)
        cls.root = User.objects.create_user("root", is_staff=True, is_superuser=True)
        cls.apollo = cls.project(cls.acme, "apollo")
        cls.zeus = cls.project(cls.globex, "zeus")

    def setUp(self) -> None:
        llm.reset()

    @classmethod
    def person(cls, name: str, tenant: Tenant, role: Role, **more: Any) -> User:
        user = User.objects.create_user(name, **more)
        Membership.objects.create(user=user, tenant=tenant, role=role)
        return user

    @classmethod
    def project(cls, tenant: Tenant, slug: str) -> Project:
        return Project.objects.create(tenant=tenant, slug=slug, name=slug.title(), bank=Bank.objects.create())

    @classmethod
    def switch_on(cls, project: Project) -> None:
        services.enable(project.bank, actor="alice", disclosure_accepted=True, now=NOON)

    @classmethod
    def begin_chat(cls, owner: User, project: Project) -> Chat:
        return service.begin(project, owner).chat

    @classmethod
    def chat_url(cls, chat: Chat, name: str = "chat", project: Project | None = None) -> str:
        where = project or cls.apollo
        return reverse(name, args=[where.tenant.slug, where.slug, chat.key])

    def say(self, user: User, chat: Chat, message: Any, project: Project | None = None) -> Any:
        """Send a message as the page's script does, logged in as ``user``."""
        self.client.force_login(user)
        body = json.dumps({"message": message})
        return self.client.post(self.chat_url(chat, project=project), body, "application/json", headers=JSON)

    @classmethod
    def remember(cls, project: Project, author: str, text: str, chat_key: str = "told") -> None:
        """Record an old turn and summarise it."""
        cls.remember_all(project, author, {chat_key: text})

    @classmethod
    def remember_all(cls, project: Project, author: str, texts: Mapping[str, str]) -> None:
        """Record an old turn in each of these chats and summarise them."""
        for chat_key, text in texts.items():
            services.record(
                project.bank,
                chat_key=chat_key,
                author=author,
                question=text,
                answer="Noted.",
                created_at=NOON,
                now=NOON,
            )
        services.run(bank=project.bank, now=NOON + timedelta(hours=1))

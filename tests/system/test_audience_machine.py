"""Any order of talking, sharing, narrowing, joining, leaving, erasing and rolling up: no word leaves its audience.

Each turn has a word that is in no other. Through every door of the product each person meets only the words of chats
that they may read, also while a model repeats to each what it was told. Ten thousand steps, in lives of fifty:
``AUDIENCE_STEPS=10000 pytest -o faulthandler_timeout=0 tests/system/test_audience_machine.py -k with_a_model``.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis
import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from memorybank import llm, services
from memorybank.llm.base import Message
from memorybank.models import Bank, BlockLineVersion, Chat, Checkpoint, Entry, Fact, Output
from projects.chat.audience import readmit_owner
from projects.gateway.memory_injection import inject_memory, read_turn
from projects.gateway.protocols import ChatCompletions
from projects.mcp.tools import Arguments, Caller, Question, project_memory, recall
from projects.models import APIKey, Conversation, Membership, Project, Role, Scope, Tenant
from projects.tenancy import api_keys, people
from tests.support.requirements import IS_CI, in_ci

pytestmark = pytest.mark.django_db

MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
NAMES, CHATS = ("ann", "ben", "cleo"), ("one", "two", "three", "four")
NOBODY = ""
STEPS = int(os.environ.get("AUDIENCE_STEPS", 0))
#: Each life ends with a look by everybody, so that longer lives cost less for each step.
STEPS_PER_LIFE = 50 if STEPS else 25 if IS_CI else 12
LIVES = STEPS // STEPS_PER_LIFE or max(1, hypothesis.settings.default.max_examples // 24)
SETTINGS = hypothesis.settings(
    max_examples=LIVES,
    stateful_step_count=STEPS_PER_LIFE,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
CANARY = re.compile(r"\bqx[a-z]{4}zz\b", re.I)
SENTENCES = (
    "The contract {} with the harbour is signed on {} May for {} euro.",
    "I prefer short answers about {} without tables, as of {} May, at most {} lines.",
    "We decided that {} moves to the northern office on {} May with {} people.",
    "From now on always mention {} before {} May in all {} reports.",
)

names, chats = st.sampled_from(NAMES), st.sampled_from(CHATS)
audiences = st.sampled_from(["project", "me", "some", "nobody"])


def note_taker(messages: Sequence[Message]) -> str:
    """One line for each numbered item, in the item's own words, citing it."""
    items = re.findall(r"^\[(F?\d+)\] \(.*?\) (.*)$", messages[-1]["content"], re.M)
    words_of = [(label, re.findall(r"\b[^\W\d_]{2,30}\b", text)[:12]) for label, text in items]
    return (
        "\n".join(f"- fact: {' '.join(words)} [{label}]" for label, words in words_of if len(words) > 1) or "- nothing"
    )


@dataclass
class SpokenWord:
    """A word, and the chat that it was said in."""

    chat: str
    author: str


class AudienceMachine(RuleBasedStateMachine):
    """A project of three people who come and go, another one of the tenant, and a model that repeats all it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.rollback = transaction.atomic()
        self.rollback.__enter__()
        llm.reset()
        if model := llm.get("summary"):
            model.answer = note_taker  # type: ignore[attr-defined]  # the scripted one
        self.now, self.number = MONDAY, 0
        tenant = Tenant.objects.create(slug="acme", name="Acme")
        self.project = Project.objects.create(tenant=tenant, slug="apollo", name="Apollo", bank=self.new_bank())
        self.other = Project.objects.create(tenant=tenant, slug="zeus", name="Zeus", bank=self.new_bank())
        self.users = {name: User.objects.create_user(name) for name in NAMES}
        for user in self.users.values():
            Membership.objects.create(tenant=tenant, user=user, role=Role.ADMIN)
        self.keys = {
            name: api_keys.issue(self.project, name, scopes, actor="ann", now=MONDAY)
            for name, scopes in {"people": list(Scope), "plain": [Scope.READ, Scope.WRITE]}.items()
        }
        self.said: dict[str, SpokenWord] = {}
        #: The chats in which the model repeated a word: those of one person remember it for that person.
        self.repeated: dict[str, set[str]] = {}
        #: Which doors were looked through since the last change, and by whom: a second look would find the same.
        self.looked: set[tuple[str, str]] = set()
        #: Whom memory knows each member as, since somebody last came or left.
        self.persons: dict[str, str] = {}
        self.client = Client(headers={"host": "testserver"})

    def new_bank(self) -> Bank:
        bank = Bank.objects.create(max_tokens=200)
        services.enable(bank, actor="ann", disclosure_accepted=True, now=MONDAY)
        return bank

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.everybody_finds_what_is_theirs()
                self.everybody_looks_everywhere()
        finally:
            transaction.set_rollback(True)
            self.rollback.__exit__(None, None, None)

    @property
    def bank(self) -> Bank:
        return Bank.objects.get(pk=self.project.bank_id)

    def chat(self, key: str) -> Chat | None:
        return Chat.objects.filter(bank=self.project.bank, key=key).first()

    def person(self, name: str) -> str:
        if not name:
            return services.NOBODY
        if name not in self.persons:
            self.persons[name] = people.person_of(self.project, self.users[name])
        return self.persons[name]

    def is_new(self, what: str, viewer: str = NOBODY) -> bool:
        """Whether the viewer has not looked at this since the last change; they have now."""
        looked = (what, viewer) in self.looked
        self.looked.add((what, viewer))
        return not looked

    def readers(self, audience: str, name: str) -> list[str] | None:
        """The people of an audience as ``name`` chooses it; whoever has left is nobody."""
        others = {"me": [name], "some": [name, NAMES[(NAMES.index(name) + 1) % 3]], "nobody": []}
        wanted = others.get(audience)
        return None if wanted is None else [person for reader in wanted if (person := self.person(reader))]

    # --- rules ------------------------------------------------------------------------------------------------

    if not IS_CI:  # CI has further examples

        @initialize(number=st.integers(0, 999))
        def a_mixed_life(self, number: int) -> None:
            """Skip Hypothesis's first example: all its choices are the simplest, so that it only looks."""
            assume(number)

    @initialize(audience=audiences)
    def begins(self, audience: str) -> None:
        for key in CHATS[:3]:
            self.says("ann", key, audience, 0)
        self.time_passes(60)

    @rule(name=names, key=chats, audience=audiences, sentence=st.integers(0, 3))
    def says(self, name: str, key: str, audience: str, sentence: int) -> None:
        """A message; its chat has this audience if it begins with it. The model repeats all that it was given."""
        if not self.person(name):
            return
        self.looked.clear()
        if not (chat := self.chat(key)):
            readers = self.readers(audience, name)
            chat = services.create_chat(self.bank, key=key, private=readers is not None, readers=readers or [])
            Conversation.objects.create(chat=chat, owner=self.users[name])
        elif chat.conversation.owner != self.users[name]:
            return
        readmit_owner(self.project, chat, name)
        readers_now = services.readers_of(chat)
        assert not readers_now or self.person(name) in readers_now, "what an owner says is remembered for them, too"
        word = self.new_word()
        question = SENTENCES[sentence].format(word, self.number % 28 + 1, self.number + 100)
        asker = people.enter_as(self.project, self.users[name])
        self.now += timedelta(seconds=1)
        memory = services.prompt_memory(self.bank, chat_key=key, question=question, asker=asker, now=self.now)
        earlier = " ".join(Output.objects.filter(chat=chat).values_list("answer", flat=True))
        heard = dict.fromkeys(CANARY.findall(f"{memory.system} {memory.recalled.text} {earlier}".lower()))
        text = " ".join(f"The note says that {other} is signed in May." for other in heard)
        answer = f"Noted. {text}"
        for other in heard:
            self.repeated.setdefault(other, set()).add(key)
        self.said[word] = SpokenWord(key, name)
        services.record(
            self.bank,
            chat_key=key,
            author=name,
            question=question,
            answer=answer,
            created_at=self.now,
            now=self.now,
            quotes=memory.quoted(answer, question=question),
        )

    def new_word(self) -> str:
        self.number += 1
        return "qx" + "".join("abcdefghij"[int(digit)] for digit in f"{self.number:04}") + "zz"

    @rule(minutes=st.sampled_from([15, 60, 60 * 24, 60 * 24 * 9, 60 * 24 * 40]))
    def time_passes(self, minutes: int) -> None:
        self.looked.clear()
        self.now += timedelta(minutes=minutes)
        services.run(now=self.now, until_idle=True)

    @rule(key=chats, audience=audiences)
    def somebody_chooses_an_audience(self, key: str, audience: str) -> None:
        chat = self.chat(key)
        if chat and (owner := chat.conversation.owner):
            self.looked.clear()
            readers = self.readers(audience, owner.username)
            services.set_audience(self.bank, chat_key=key, readers=readers, actor=owner.username, now=self.now)

    @rule(key=chats, audience=st.sampled_from(["me", "some"]), sweeps=st.booleans())
    def an_audience_is_chosen_and_undone(self, key: str, audience: str, sweeps: bool) -> None:
        """The block is the same to the byte, unless an answer of another chat was marked meanwhile."""
        self.looked.clear()
        chat = self.chat(key)
        if not chat or chat.private or not (owner := chat.conversation.owner):
            return
        services.run(now=self.now, until_idle=True)
        before, written, marked = services.render(self.bank, now=self.now).text, self.digests(), self.marked()
        about: dict[str, Any] = {"chat_key": key, "actor": owner.username}
        services.set_audience(self.bank, readers=self.readers(audience, owner.username), now=self.now, **about)
        with llm.using("summary", None):  # only a model rewrites
            if sweeps:
                services.run(now=self.now, until_idle=True)
            self.everybody_looks_everywhere()
            assert services.find_violations(self.bank) == []
            services.set_audience(self.bank, readers=None, now=self.now, **about)
            self.looked.clear()
            if self.marked() == marked and self.readers(audience, owner.username):
                assert self.digests() == written
                assert services.render(self.bank, now=self.now).text == before

    def digests(self) -> list[Any]:
        """What the digests hold, in figures and lines."""
        figures = Entry.objects.filter(bank=self.bank, chat=None).order_by("pk")
        lines = Fact.objects.filter(bank=self.bank, entry__chat=None).order_by("pk")
        return [*figures.values_list("pk", "output_count", "tokens"), *lines.values_list("pk", "text", "withdrawn")]

    def marked(self) -> int:
        return Output.objects.filter(quotes_private=True).count()

    @rule(name=names)
    def somebody_leaves_or_comes_back(self, name: str) -> None:
        """Who comes back is another person for memory."""
        self.looked.clear()
        self.persons.clear()
        member = Membership.objects.filter(user=self.users[name])
        if member.exists():
            member.delete()
        else:
            Membership.objects.create(tenant=self.project.tenant, user=self.users[name], role=Role.ADMIN)

    @rule(key=chats, what=st.sampled_from(["chat", "turn", "author"]))
    def somebody_erases(self, key: str, what: str) -> None:
        words = [word for word, statement in self.said.items() if statement.chat == key]
        if not words:
            return
        self.looked.clear()
        author = self.said[words[0]].author
        if what == "author":
            words = [word for word, statement in self.said.items() if statement.author == author]
        elif what == "turn":
            words = words[:1]
        turn = Output.objects.filter(question__contains=words[0]).first()
        target = {"chat": {"chat": key}, "author": {"author": author}, "turn": {"output": turn and turn.pk}}[what]
        self.now += timedelta(seconds=1)
        services.erase(self.bank, **target, actor="ann", now=self.now)  # type: ignore[arg-type]
        for word in words:
            del self.said[word]
            # Answers that repeat it are other people's turns: they are erased like these.
            if repeated := list(Output.objects.filter(answer__contains=word).values_list("pk", flat=True)):
                services.erase(self.bank, output=repeated, actor="ann", now=self.now)
        kept = "".join(Output.objects.values_list("question", flat=True))
        # Turns that repeated one are gone, too.
        self.said = {word: statement for word, statement in self.said.items() if word in kept}
        self.now += timedelta(seconds=1)

    @rule(key=chats, what=st.sampled_from(["pin", "hide", "edit"]))
    def somebody_decides(self, key: str, what: str) -> None:
        fact = Fact.objects.filter(bank=self.bank, entry__chat__key=key).order_by("pk").first()
        if fact is None:
            return
        self.looked.clear()
        about: dict[str, Any] = {"fact_ids": [fact.pk], "actor": "ann", "now": self.now}
        if what == "edit":
            services.edit_facts(self.bank, text=fact.text.replace("signed", "sealed"), **about)
        else:
            (services.pin if what == "pin" else services.hide)(self.bank, **about)

    @rule(viewer=st.sampled_from([*NAMES, NOBODY]), doors=st.sampled_from(["lists", "programs", "pages"]))
    def somebody_looks(self, viewer: str, doors: str) -> None:
        self.looks_through(viewer, doors)

    def looks_through(self, viewer: str, doors: str) -> None:
        """Through some of the doors: all of them after each step would take most of the time."""
        if self.is_new(doors, viewer):
            for door, text in getattr(self, doors)(viewer):
                self.judge(door, viewer, text)

    def everybody_looks_everywhere(self) -> None:
        for viewer in (*NAMES, NOBODY):
            for doors in ("prompts", "lists", "programs", "pages"):
                self.looks_through(viewer, doors)

    # --- what is always true --------------------------------------------------------------------------------

    @invariant()
    def memory_is_sound(self) -> None:
        if self.is_new("invariants"):
            assert services.find_violations(self.bank) == []

    @invariant()
    def nothing_is_shown_to_others(self) -> None:
        self.looks_through((*NAMES, NOBODY)[self.number % 4], "prompts")

    def judge(self, door: str, viewer: str, text: str) -> None:
        """Every word in it is of a chat that the viewer may read, or was repeated in one that is for them alone."""
        met = {word.lower() for word in CANARY.findall(text)}
        chats = Chat.objects.filter(bank=self.project.bank)
        visible = set(chats.visible_to(self.person(viewer)).values_list("key", flat=True))
        alone = chats.restricted_to(self.person(viewer)).annotate(people=Count("readers")).filter(people=1)
        own = set(alone.values_list("key", flat=True))
        allowed = {
            word for word, said in self.said.items() if said.chat in visible or own & self.repeated.get(word, set())
        }
        assert met <= allowed, (door, viewer, met - allowed)

    def prompts(self, viewer: str) -> Iterator[tuple[str, str]]:
        asker = people.enter_as(self.project, self.users[viewer]) if viewer else services.ANYBODY
        question = f"What is signed in May about {next(reversed(self.said), 'the harbour')}?"
        memory = services.prompt_memory(self.bank, question=question, asker=asker, now=self.now)
        shared = services.prompt_memory(self.bank, now=self.now).block
        assert memory.block == shared  # the same for everybody
        self.judge("the shared block", NOBODY, shared.text)
        if self.is_new("the block made anew"):
            self.judge("the block made anew", NOBODY, services.render(self.bank, now=self.now).text)
        assert memory.personal.tokens == services.count_tokens(memory.personal.text) <= self.bank.personal_tokens
        yield "prompt", memory.system
        yield "notes", memory.recalled.text
        hits = services.recall(self.bank, question, top=50, viewer=asker.person, now=self.now)
        yield "recall", str([hit.text for hit in hits])

    def lists(self, viewer: str) -> Iterator[tuple[str, str]]:
        person = self.person(viewer)
        yield "facts", str(list(services.browse(self.bank, viewer=person).values_list("text", "original")))
        for fact in services.browse(self.bank, viewer=person)[:5]:
            explained = services.explain(self.bank, fact_id=fact.pk, actor="ann", viewer=person, now=self.now)
            yield "explanation", str([(turn.question, turn.answer, turn.chat.title) for turn in explained.outputs])
        yield "export", str(list(services.export(self.bank, actor="ann", viewer=person, now=self.now)))
        self.judge("history", NOBODY, str(list(BlockLineVersion.objects.readable().values_list("text", flat=True))))
        shared = Checkpoint.objects.filter(chat__private=False).values_list("text", flat=True)
        self.judge("checkpoints", NOBODY, str(list(shared)))

    def programs(self, viewer: str) -> Iterator[tuple[str, str]]:
        """With a key that may speak for people as this person; with another key it is nobody, whatever it says."""
        asked = f"What is signed in May about {next(reversed(self.said), 'the harbour')}?"
        for name, (key, secret) in self.keys.items():
            who = viewer if name == "people" else NOBODY
            named = viewer if name == "people" else NAMES[0]
            headers = {"Authorization": f"Bearer {secret}", **({"X-Memory-User": named} if named else {})}
            if who == NOBODY and not self.is_new(f"programs with the key {name}"):
                continue
            for path in ("block", "facts", "entries", "export", "outputs", "chats"):
                answer = self.client.get(f"/api/v1/{path}", headers=headers)
                if answer.status_code != 403:  # the plain key may not export
                    body = answer.getvalue() if answer.streaming else answer.content
                    self.judge(f"API {path}", who, body.decode())
            for path, body in {"memory": {"question": asked}, "recall": {"question": asked, "top": 50}}.items():
                answer = self.client.post(f"/api/v1/{path}", json.dumps(body), "application/json", headers=headers)
                assert answer.status_code == 200
                # The question repeats one of the words.
                self.judge(f"API {path}", who, answer.content.decode())
            row = APIKey.objects.select_related("project__bank", "project__tenant").get(pk=key.pk)
            caller = Caller(row, people.enter_as_named_in(row, headers))
            self.judge(
                "MCP", who, f"{project_memory(caller, Arguments())} {recall(caller, Question(question=asked, top=50))}"
            )
            body = {"model": "m", "messages": [{"role": "user", "content": "What is signed in May?"}]}
            if turn := read_turn(row, ChatCompletions(), body, headers, self.now):
                self.judge("gateway", who, json.dumps(inject_memory(turn, ChatCompletions(), body).body))
        yield from ()

    def pages(self, viewer: str) -> Iterator[tuple[str, str]]:
        """The pages of memory, as this member sees them."""
        if not viewer:
            return
        self.client.force_login(self.users[viewer])
        address = [self.project.tenant.slug, self.project.slug]
        for name in ("memory", "memory-facts", "memory-timeline", "memory-past", "memory-activity", "memory-review"):
            page = self.client.get(reverse(name, args=address))
            if page.status_code != 404:  # they have left
                yield name, page.content.decode()
        for conversation in Conversation.objects.filter(owner=self.users[viewer], chat__bank=self.project.bank):
            for turn in conversation.chat.outputs.filter(answer_context__isnull=False)[:2]:
                yield (
                    "used",
                    self.client.get(reverse("used", args=[*address, conversation.chat.key, turn.pk])).content.decode(),
                )

    def everybody_finds_what_is_theirs(self) -> None:
        """Not by being mute: what somebody may read is found, once it is remembered and as long as nobody hides it."""
        self.now += timedelta(days=2)
        services.run(now=self.now, until_idle=True)
        for word, statement in self.said.items():
            for name in (*NAMES, NOBODY):
                person = self.person(name)
                if Chat.objects.filter(bank=self.project.bank, key=statement.chat).visible_to(person).exists():
                    hits = services.recall(self.bank, f"contract {word}", top=50, viewer=person, now=self.now)
                    about = Fact.objects.filter(text__contains=word, bank=self.bank)
                    if about.exclude(quarantine="").exists():  # a rule: recall gives it to nobody, its author reads it
                        continue
                    hidden = set(about.values_list("hidden", flat=True))
                    assert hidden != {False} or any(word in hit.text for hit in hits), (word, name)


@pytest.fixture(autouse=True)
def no_static_root(settings: Any) -> None:
    """Nothing is collected here, and WhiteNoise would warn that it is not."""
    settings.STATIC_ROOT = ""


@pytest.mark.long
@pytest.mark.usefixtures("model")
def test_no_word_leaves_its_audience_with_a_model() -> None:
    run_state_machine_as_test(AudienceMachine, settings=SETTINGS)


@in_ci
@pytest.mark.long
@pytest.mark.usefixtures("no_model")
def test_no_word_leaves_its_audience_without_a_model() -> None:
    fewer = max(1, LIVES // 2)
    run_state_machine_as_test(AudienceMachine, settings=hypothesis.settings(SETTINGS, max_examples=fewer))

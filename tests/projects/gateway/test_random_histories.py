"""Random histories of gateway clients: every answered turn is in one chat, none twice, none lost, two people never one.

The searched histories branch, run in parallel, and are edited, shortened, compacted, altered, stopped and retried, call
tools and quote documents, with and without ids. The quick profile tries few. For 10,000:
GATEWAY_HISTORIES=10000 pytest -n0 -o faulthandler_timeout=0 tests/projects/gateway/test_random_histories.py
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from memorybank import services
from memorybank.models import Bank, Erasure, Output
from projects.gateway.protocols import Answer, ChatCompletions, Responses
from projects.gateway.routes import Route
from projects.gateway.turn_recording import RecordedQuestion, record_answer, record_question
from projects.models import APIKey, Project, Tenant
from projects.tenancy import api_keys
from tests.support.gateway_turns import turn_of

ROUTE = Route("gateway", "chat/completions", ChatCompletions(), remembers=True)
STORING = Route("gateway", "responses", Responses(), remembers=True)
CHOICE = {"type": "function", "function": {"name": "choose"}}
OPENINGS = ("hi", "Hello")
CONTINUATION = "Go on."
#: A profile with so many examples is for CI, or for a search.
MANY = 100
GREETING, CONSENT = "Hello! What can I do for you?", "All right."

Messages = list[dict[str, Any]]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@dataclass
class Person:
    """Somebody with a program: their key, and their name if the program sends it."""

    name: str
    key: APIKey
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class History:
    """What one tab of a client shows, and where its turns were recorded. ``label`` tells people apart."""

    person: Person
    headers: dict[str, str]
    messages: Messages = field(default_factory=list)
    chats: list[str] = field(default_factory=list)
    #: Whether the next turn must be in the chat of the last one.
    continues: bool = True

    @property
    def named(self) -> bool:
        return bool(self.headers)

    def cut(self, turns: int) -> "History":
        """A branch of it with the first turns only."""
        return replace(self, messages=self.messages[: 2 * turns], chats=self.chats[:turns], continues=False)


@dataclass
class Stored:
    """A response that the upstream keeps, the chat of its turn, and whether a request has gone on from it."""

    person: Person
    id: str
    chat: str
    is_continued: bool = False


@dataclass
class Flight:
    """A request that the upstream has not answered yet."""

    history: History
    messages: Messages
    recorded: RecordedQuestion
    may_follow: bool


class Clients(RuleBasedStateMachine):
    """Clients of one project, and what must have been recorded of them."""

    #: The bank and its two keys, which all histories share: each is rolled back at its end.
    bank: Bank
    keys: Sequence[APIKey]

    @initialize()
    def begin(self) -> None:
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        keys = self.keys
        self.people = [
            Person("p0", keys[0]),
            Person("p1", keys[0]),
            Person("p2", keys[0], {"X-Memory-User": "ann"}),
            Person("p3", keys[1]),
        ]
        self.other_key = keys[1]
        self.histories: list[History] = []
        self.flights: list[Flight] = []
        self.stored: list[Stored] = []
        self.answered: Counter[tuple[str, str]] = Counter()
        self.beginnings: dict[str, set[str]] = {}  # by chat without an id: the histories that its turns followed
        self.shown: Counter[str] = Counter()  # by history: in how many tabs it was shown
        self.continued: Counter[str] = Counter()  # by history: how many different requests went on from it
        self.sets_aside = False
        self.number = 0

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                for flight in self.flights:
                    self._land(flight, self._unique("late"), keep=False)
                self._check()
        finally:
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    # --- what clients do

    @rule(
        who=st.integers(0, 3),
        header=st.sampled_from(["", "", "X-Memory-Chat", "X-Claude-Code-Session-Id"]),
        opening=st.sampled_from([*OPENINGS, ""]),
        equal=st.booleans(),
    )
    def open(self, who: int, header: str, opening: str, equal: bool) -> None:
        headers = {header: self._unique("id")} if header else {}
        self.sets_aside = self.sets_aside or header == "X-Memory-Chat"
        history = History(self.people[who], headers)
        self.histories.append(history)
        self._say(history, opening or None, GREETING if equal else None)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), plain=st.booleans(), equal=st.booleans())
    def say(self, which: int, plain: bool, equal: bool) -> None:
        self._say(self._pick(which), CONTINUATION if plain else None, CONSENT if equal else None)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), turns=st.integers(0, 9), plain=st.booleans())
    def branch(self, which: int, turns: int, plain: bool) -> None:
        """Fork, and keep both."""
        history = self._pick(which)
        fork = history.cut(turns % (len(history.chats) + 1))
        self.histories.append(fork)
        self._say(fork, CONTINUATION if plain else None)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), turns=st.integers(1, 9), same=st.booleans())
    def edit(self, which: int, turns: int, same: bool) -> None:
        """Go back some turns, and ask something else or the same again."""
        history = self._pick(which)
        if history.chats:
            kept = max(0, len(history.chats) - turns)
            question = history.messages[2 * kept]["content"]
            history.messages, history.chats, history.continues = (
                history.messages[: 2 * kept],
                history.chats[:kept],
                False,
            )
            self._say(history, question if same else None)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), turns=st.integers(1, 9), summary=st.booleans())
    def shorten(self, which: int, turns: int, summary: bool) -> None:
        history = self._pick(which)
        if len(history.chats) > 1:
            cut = min(turns, len(history.chats) - 1)
            front = [user("A summary of what was said."), assistant("Understood.")] if summary else []
            history.messages = [*front, *history.messages[2 * cut :]]
            history.chats = [*(history.chats[:1] if summary else []), *history.chats[cut:]]
            history.continues = False
            self._say(history)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99))
    def compact(self, which: int) -> None:
        """As an agent does: instructions behind the last words, then a summary instead of the history."""
        history = self._pick(which)
        if history.messages:
            last = history.messages[-2]["content"]
            asked = [*history.messages[:-2], user(f"{last}\n\nCRITICAL: Respond with TEXT ONLY. Summarise.")]
            flight = self._ask(history, asked, may_follow=False)
            summary = self._unique("summary")
            self._land(flight, summary, keep=False)
            history.messages, history.chats, history.continues = [user(summary), assistant("Good.")], [""], False
            self._say(history)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), thinking=st.booleans())
    def reformat(self, which: int, thinking: bool) -> None:
        """A client that strips an answer's thinking, or renders its Markdown, and goes on."""
        history = self._pick(which)
        answer = self._unique("**Answer**\n\n* one\n* two")
        flight = self._ask(history, [*history.messages, user(self._unique(history.person.name))])
        self._land(flight, f"<think>Hm, {answer}?</think>\n\n{answer}" if thinking else answer)
        self._alter(history, answer.replace("*", "").replace("\n", " "))
        self._say(history)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99))
    def abridge(self, which: int) -> None:
        """A client that cuts answers down, and goes on."""
        history = self._pick(which)
        kept = self._unique("We can do all of that on Friday morning,")
        self._say(history, answer=f"{kept} Sources: the plan, the roster and the minutes.")
        self._alter(history, kept)
        self._say(history)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), again=st.booleans(), plain=st.booleans())
    def fail(self, which: int, again: bool, plain: bool) -> None:
        """The upstream fails; the same is asked again, or not."""
        history = self._pick(which)
        messages = [*history.messages, user(CONTINUATION if plain else self._unique(history.person.name))]
        flight = self._ask(history, messages)
        record_answer(flight.recorded, Answer(error="overloaded"), Output.Status.ERROR)
        if again:
            output = flight.recorded.output
            retried = self._ask(history, messages)
            assert output and retried.recorded.output and (plain or output.pk == retried.recorded.output.pk)
            self._land(retried, self._unique("answer"))

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), resend=st.booleans())
    def stop(self, which: int, resend: bool) -> None:
        """The person stops the answer; asks the same again, or goes on from the part."""
        history = self._pick(which)
        asked = user(self._unique(history.person.name))
        flight = self._ask(history, [*history.messages, asked])
        part = self._unique("part of an answer")
        answer = Answer(messages=_read(part).messages)
        record_answer(flight.recorded, answer, Output.Status.CANCELLED)
        if resend:
            self._land(self._ask(history, [*history.messages, asked]), self._unique("answer"))
        else:
            history.messages = [*history.messages, asked]
            self._show(history, part)
            history.chats.append(flight.recorded.location.chat_key)
            history.continues = True
            self.answered[asked["content"], part] += 1
            self._say(history)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), opening=st.booleans(), by_key=st.booleans())
    def lose(self, which: int, opening: bool, by_key: bool) -> None:
        """An answer is lost on its way, and the client library repeats the request."""
        history = self._pick(which)
        if opening and not history.named:
            history = History(history.person, {})
            self.histories.append(history)
        messages = [*history.messages, user(self._unique(history.person.name))]
        key = {"Idempotency-Key": self._unique("key")} if by_key else {}
        first = self._ask(history, messages, **key)
        self._land(first, self._unique("lost"), keep=False)
        second = self._ask(history, messages, **(key or {"X-Stainless-Retry-Count": "1"}))
        assert second.recorded.headers()["x-memory-turn"] == "repeated"
        self._land(second, self._unique("second answer"), counts=False)
        self._say(history)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), steps=st.integers(1, 3))
    def use_tools(self, which: int, steps: int) -> None:
        history = self._pick(which)
        question = user(self._unique(history.person.name))
        sent = [*history.messages, question]
        flight = self._ask(history, sent)
        for _ in range(steps):
            call = _call("look", f'{{"n":{self._next()}}}')
            called = {"role": "assistant", "content": None, "tool_calls": [call]}
            record_answer(flight.recorded, _read_message(called), Output.Status.OK)
            sent = [*sent, called, {"role": "tool", "tool_call_id": "c1", "content": "Seen."}]
            first, flight = flight, self._ask(history, sent)
            assert first.recorded.output and flight.recorded.output
            assert first.recorded.output.pk == flight.recorded.output.pk, "tool calls are one turn"
        answer = self._unique("seen")
        self._land(flight, answer, keep=False)
        history.messages, history.continues = sent, True
        self._show(history, answer)
        history.chats.append(flight.recorded.location.chat_key)
        self._say(history)
        self.histories.remove(history)  # its turns have more than two messages

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), goes_on=st.booleans())
    def force_tool(self, which: int, goes_on: bool) -> None:
        """A structured answer by a forced tool; its result follows with the next question, or before the answer."""
        history = self._pick(which)
        question = user(self._unique(history.person.name))
        sent = [*history.messages, question]
        flight = self._ask(history, sent, body={"tools": [CHOICE], "tool_choice": "required"})
        arguments = f'{{"n":{self._next()}}}'
        called = {"role": "assistant", "content": None, "tool_calls": [_call("choose", arguments)]}
        record_answer(flight.recorded, _read_message(called), Output.Status.OK)
        history.messages, history.continues = (
            [*sent, called, {"role": "tool", "tool_call_id": "c1", "content": "Done."}],
            True,
        )
        if goes_on:
            last = self._ask(history, history.messages)
            assert flight.recorded.output and last.recorded.output
            assert flight.recorded.output.pk == last.recorded.output.pk, "the call and its result are one turn"
            answer = self._unique("chosen")
            self._land(last, answer, keep=False)
            self._show(history, answer)
        else:
            self.answered[question["content"], arguments] += 1
            self.shown[json.dumps(history.messages)] += 1
        history.chats.append(flight.recorded.location.chat_key)
        self._say(history)
        self.histories.remove(history)  # its turns have more than two messages

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99))
    def retrieve(self, which: int) -> None:
        """A client that quotes documents in the newest message only."""
        history = self._pick(which)
        question = self._unique(history.person.name)
        quoted = f"<context>\nWe decided on number {self._next()}.\n</context>\n\n{question}"
        flight = self._ask(history, [*history.messages, user(quoted)])
        self._land(replace(flight, messages=[*history.messages, user(question)]), self._unique("Answer"))
        self._say(history)

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99), plain=st.booleans())
    def send(self, which: int, plain: bool) -> None:
        """Ask, and do other things before the answer is there."""
        history = self._pick(which)
        asked = [*history.messages, user(CONTINUATION if plain else self._unique(history.person.name))]
        self.flights.append(self._ask(history, asked))

    @precondition(lambda self: self.flights)
    @rule(which=st.integers(0, 99))
    def receive(self, which: int) -> None:
        flight = self.flights.pop(which % len(self.flights))
        current = flight.history.messages == flight.messages[:-1]
        self._land(flight, self._unique("late"), keep=current)

    @rule(who=st.integers(0, 3), which=st.integers(0, 99), opens=st.booleans(), uses_tool=st.booleans())
    def store(self, who: int, which: int, opens: bool, uses_tool: bool) -> None:
        """A client whose upstream keeps the conversation: a chat that begins, or goes on from any response."""
        previous = None if opens or not self.stored else self.stored[which % len(self.stored)]
        person = previous.person if previous else self.people[who]
        question, more = self._unique(person.name), {"previous_response_id": previous.id} if previous else {}
        recorded = self._send(person, {"input": question, **more})
        if uses_tool:
            called = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
            first, more = recorded, {"previous_response_id": self._stored_answer(recorded, called)}
            result = {"type": "function_call_output", "call_id": "c1", "output": "Seen."}
            recorded = self._send(person, {"input": [result], **more})
            assert first.output and recorded.output and first.output.pk == recorded.output.pk, "one turn"
        answer = self._unique("Stored")
        part = {"type": "output_text", "text": answer}
        said = {"type": "message", "id": self._unique("item"), "role": "assistant", "content": [part]}
        response_id, chat = self._stored_answer(recorded, said), recorded.location.chat_key
        known = {stored.chat for stored in self.stored}
        if previous and not previous.is_continued:
            assert chat == previous.chat, "a chat that goes on is one chat"
        else:
            assert chat not in known, "a chat does not branch"
        if previous:
            previous.is_continued = True
        self.answered[question, answer] += 1
        self.stored.append(Stored(person, response_id, chat))

    def _send(self, person: Person, body: dict[str, Any]) -> RecordedQuestion:
        recorded = record_question(turn_of(person.key, STORING, {"model": "small", **body}, person.headers))
        assert recorded.output, recorded.skipped
        return recorded

    def _stored_answer(self, recorded: RecordedQuestion, item: dict[str, Any]) -> str:
        """Record an answer that the upstream stores, and return its id."""
        reader, response_id = Responses.reader(), self._unique("resp")
        reader.read_body({"id": response_id, "status": "completed", "output": [item]})
        record_answer(recorded, reader.answer(), Output.Status.OK)
        return response_id

    @precondition(lambda self: self.histories)
    @rule(which=st.integers(0, 99))
    def change_key(self, which: int) -> None:
        """Another key of the project: a replaced one, or a second machine."""
        history = self._pick(which)
        unique = any(str(message["content"]).startswith(history.person.name) for message in history.messages)
        if not history.named and len(history.chats) >= 2 and unique:
            history.person = replace(history.person, key=self.other_key)
            self._say(history)

    # --- how they do it

    def _alter(self, history: History, answer: str) -> None:
        """Show the last answer in another form."""
        history.messages = history.messages[:-1]
        self._show(history, answer)

    def _show(self, history: History, answer: str) -> None:
        history.messages = [*history.messages, assistant(answer)]
        self.shown[json.dumps(history.messages)] += 1

    def _pick(self, which: int) -> History:
        return self.histories[which % len(self.histories)]

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _unique(self, text: str) -> str:
        return f"{text} number {self._next()} of these."

    def _say(self, history: History, question: str | None = None, answer: str | None = None) -> None:
        asked = user(question or self._unique(history.person.name))
        self._land(self._ask(history, [*history.messages, asked]), answer or self._unique("Answer"))

    def _ask(
        self,
        history: History,
        messages: Messages,
        *,
        may_follow: bool = True,
        body: dict[str, Any] | None = None,
        **headers: str,
    ) -> Flight:
        """Send a request; the upstream has it now."""
        person = history.person
        sent = {**person.headers, **history.headers, **headers}
        turn = turn_of(person.key, ROUTE, {"model": "small", "messages": messages, **(body or {})}, sent)
        recorded = record_question(turn)
        assert recorded.output, recorded.skipped
        if messages[-1]["role"] == "user" and recorded.location.output is None:
            self.continued[json.dumps(messages[:-1])] += 1
        return Flight(history, messages, recorded, may_follow)

    def _land(self, flight: Flight, answer: str, *, keep: bool = True, counts: bool = True) -> None:
        """The answer arrives; the client shows it if it is to ``keep`` it."""
        history = flight.history
        record_answer(flight.recorded, _read(answer), Output.Status.OK)
        if counts:
            asked = flight.messages[self._question_position(flight.messages)]["content"]
            self.answered[asked, answer] += 1
        chat = flight.recorded.location.chat_key
        if counts and not history.named:
            beginning = json.dumps(flight.messages[: self._question_position(flight.messages)])
            assert beginning not in self.beginnings.setdefault(chat, set()), "a chat does not branch"
            self.beginnings[chat].add(beginning)
        if keep:
            must_follow = history.named or (history.continues and self._is_sole(history))
            if history.chats and history.chats[-1] and must_follow:
                assert chat == history.chats[-1], "a chat that goes on is one chat"
            history.messages = flight.messages
            self._show(history, answer)
            history.chats = [*history.chats, chat]
            history.continues = True
            self._check_named(flight)

    @staticmethod
    def _question_position(messages: Messages) -> int:
        return max(position for position, message in enumerate(messages) if message["role"] == "user")

    def _is_sole(self, history: History) -> bool:
        """Whether no other tab has shown the same, and no other request has continued it."""
        beginning = json.dumps(history.messages)
        return self.shown[beginning] == self.continued[beginning] == 1

    def _check_named(self, flight: Flight) -> None:
        if "X-Memory-Chat" in flight.history.headers and flight.recorded.output:
            assert not Output.objects.get(pk=flight.recorded.output.pk).set_aside

    def _check(self) -> None:
        outputs = list(Output.objects.filter(chat__bank=self.bank).select_related("chat"))
        recorded = Counter((output.question, output.answer) for output in outputs if output.status == "ok")
        assert recorded == self.answered, (recorded - self.answered, self.answered - recorded)
        people: dict[int, set[str]] = {}
        for output in outputs:
            name = output.question.split()[0]
            if name in {person.name for person in self.people}:
                people.setdefault(output.chat_id, set()).add(name)
        assert all(len(names) == 1 for names in people.values()), "two people are one"
        assert not Erasure.objects.filter(bank=self.bank).exists()
        assert self.sets_aside or not any(output.set_aside for output in outputs)


def _call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def _read(text: str) -> Answer:
    return _read_message(assistant(text))


def _read_message(message: dict[str, Any]) -> Answer:
    reader = ChatCompletions.reader()
    reader.read_body({"choices": [{"index": 0, "message": message}]})
    return reader.answer()


def _project() -> tuple[Bank, list[APIKey]]:
    tenant = Tenant.objects.create(slug="acme", name="Acme")
    project = Project.objects.open(tenant, "apollo", "Apollo")
    services.enable(project.bank, actor="alice", disclosure_accepted=True)
    issue = partial(api_keys.issue, project, scopes=["read", "write"], actor="alice", now=timezone.now())
    return project.bank, [issue(name=name)[0] for name in ("desk", "laptop")]


@pytest.mark.django_db
def test_every_answered_turn_is_in_one_chat_whatever_clients_send(settings: Any) -> None:
    settings.GATEWAY_UPSTREAMS = {"openai": ("http://upstream.test/v1", "sk-upstream")}
    Clients.bank, Clients.keys = _project()
    run_state_machine_as_test(Clients, settings=_profile())


def _profile() -> settings:
    wanted = int(os.environ.get("GATEWAY_HISTORIES", "0"))
    each = settings.default.max_examples
    each = each if each >= MANY else each // 4  # a history takes half a second
    profile = settings(max_examples=each, stateful_step_count=20, suppress_health_check=list(HealthCheck))
    return settings(profile, max_examples=wanted, derandomize=False) if wanted else profile

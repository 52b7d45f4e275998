"""Input is stored, or refused in one line that names the field."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Output
from projects.importing.jsonl import BadLineError, LineReader
from projects.importing.service import ProjectCache, batches, import_batch
from tests.projects.importing.test_import_chats import GOOD
from tests.support import factories
from tests.support.commands import run, shell

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["\x00", "\ud800", "\x1b[31m", "tool", "user", "text", "1" * 400, 10**400, -0.0])
)  # fmt: skip
names = st.sampled_from(
    "role content name tool_calls function arguments id type text image_url tool_call_id".split()
) | st.text(max_size=5)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)
offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(timezones=offsets) | st.sampled_from(
    [datetime(*day, tzinfo=timezone(timedelta(minutes=minutes))) for day in
     [(1, 1, 1), (1970, 1, 1), (2026, 3, 1), (9999, 12, 31, 23, 59, 59)] for minutes in (-1439, 0, 1439)]
)  # fmt: skip


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def taken(*lines: str) -> list[bool | BadLineError]:
    projects, reader = ProjectCache(), LineReader(NOW)
    return [item for batch in batches(reader.read(lines)) for item in import_batch(projects, batch, now=NOW)]


def calling(**function: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", "tool_calls": [{"function": function}]}]


# --- what messages may hold ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([5], "messages[0]: must be an object, not a number."),
        ([{"role": 5}], "messages[0].role: must be text, not a number."),
        ([{"role": "tool", "name": ["x"]}], "messages[0].name: must be text, not a list."),
        ([{}, {"content": 5}], "messages[1].content: must be text or a list, not a number."),
        ([{"content": ["x"]}], "messages[0].content[0]: must be an object, not text."),
        ([{"content": [{"type": "text", "text": {}}]}], "messages[0].content[0].text: must be text, not an object."),
        ([{"tool_calls": 5}], "messages[0].tool_calls: must be a list, not a number."),
        ([{"tool_calls": [True]}], "messages[0].tool_calls[0]: must be an object, not true or false."),
        ([{"tool_calls": [{"function": 5}]}], "messages[0].tool_calls[0].function: must be an object, not a number."),
        (calling(name=5), "messages[0].tool_calls[0].function.name: must be text, not a number."),
        (calling(arguments=5), "messages[0].tool_calls[0].function.arguments: must be text or an object"),
        (nested(500), "messages: nested more than 50 deep."),
    ],
)
def test_what_is_of_the_wrong_type_inside_messages_is_named(messages: Any, words: str) -> None:
    bank = factories.make_bank()
    with pytest.raises(InvalidInput) as refused:
        factories.say(bank, "c1", "Hello", messages=messages)
    assert words in str(refused.value)
    (outcome,) = taken(json.dumps({**GOOD, "messages": messages}))
    assert isinstance(outcome, BadLineError)
    assert str(outcome).startswith(f"line 1: {words}")


def test_what_openai_and_its_kin_send_is_taken() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    bank = factories.make_bank()
    messages = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None, "audio": None},
        {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": {"at": 1}}}]},
        {"role": "tool", "tool_call_id": "1", "name": None, "content": "42 rows", "extra": [1, {"a": 2.5}]},
        {"role": "assistant", "tool_calls": None},
    ]
    assert factories.say(bank, "c1", "Hello", messages=messages).messages == messages


@settings(
    max_examples=settings.default.max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(messages=values)
@example(messages=[{"tool_calls": 5}])
@example(messages=5)
@example(messages={"role": "tool"})
def test_messages_that_stand_already_are_read_whatever_they_are(messages: Any, db: None) -> None:
    with transaction.atomic():
        bank = factories.make_bank()
        output = factories.say(bank, "c1", "Priya owns the invoice importer since Monday.")
        try:
            with transaction.atomic():
                Output.objects.filter(pk=output.pk).update(messages=messages)
        except Exception:  # no database accepts it, so it was stored nowhere
            pass
        factories.cover(bank)
        assert services.recall(bank, "Who owns the invoice importer?")
        transaction.set_rollback(True)


# --- API and import -------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    fields=st.dictionaries(st.sampled_from([*GOOD, "id", "messages", "status", "title"]), values, max_size=3),
    moment=times,
)
@example(fields={"messages": nested(100)}, moment=NOW)
@example(fields={"question": nested(100)}, moment=NOW)
@example(fields={"id": nested(3)}, moment=NOW)
@example(fields={"id": {"a": 1}}, moment=NOW)
@example(fields={}, moment=datetime(2026, 3, 1, tzinfo=timezone(timedelta(minutes=1439))))
def test_a_line_is_imported_or_refused_and_its_neighbours_are_imported(
    fields: dict[str, Any], moment: datetime, db: None
) -> None:
    with transaction.atomic():
        odd = json.dumps({**GOOD, "created_at": moment.isoformat(), **fields})
        before = {**GOOD, "id": "before"}
        outcomes = taken(json.dumps(before), odd, json.dumps({**before, "id": "after"}))
        stored = sum(outcome is True for outcome in outcomes)
        assert stored >= 2
        assert Output.objects.count() == stored
        for line in (str(outcome) for outcome in outcomes if isinstance(outcome, BadLineError)):
            assert line.startswith("line 2: ")
            assert line.isprintable()
            assert len(line) <= 300
        transaction.set_rollback(True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    fields=st.dictionaries(
        st.sampled_from("chat_key author question answer messages status key title".split()), values, max_size=3
    ),
    moment=times | values,
)
@example(fields={"messages": nested(100)}, moment=NOW)
@example(fields={"title": "\ud800\x00"}, moment=NOW)
@example(fields={"messages": [{(1, 2): 3}]}, moment=NOW)
@example(fields={}, moment=datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(-timedelta(minutes=1439))))
def test_recording_stores_or_refuses(fields: dict[str, Any], moment: Any, db: None) -> None:
    with transaction.atomic():
        bank = factories.make_bank()
        given_fields = {"chat_key": "c1", "author": "ann", "question": "Hello", "answer": "Hi.", **fields}
        try:
            with transaction.atomic():
                output = services.record(bank, created_at=moment, now=NOW, **given_fields)
        except InvalidInput:
            assert not Output.objects.exists()
        else:
            assert Output.objects.get() == output
        transaction.set_rollback(True)


@pytest.mark.parametrize("depth", [300, 900, 975, 2000])
@pytest.mark.parametrize("name", ["messages", "question", "id", "answer", "tenant"])
def test_what_is_nested_deeper_than_python_counts_is_refused(depth: int, name: str) -> None:
    line = json.dumps({**GOOD, name: "HERE"}).replace('"HERE"', "[" * depth + "]" * depth)
    (outcome,) = taken(line)
    assert isinstance(outcome, BadLineError)


def test_a_clock_of_an_odd_zone_runs_every_command(tmp_path: Any) -> None:
    file = tmp_path / "chats.jsonl"
    line = {**GOOD, "created_at": "2026-03-02T10:00:00+23:59"}
    file.write_text(f"{json.dumps(line)}\n{json.dumps({**line, 'tenant': 'globex'})}\n")
    assert run("replay_chats", file, "--step", "1d").code == 0
    assert run("run_memory", "--now", "2026-03-03T10:00:00-23:59").code == 0
    assert Output.objects.count() == 2


# --- what is printed about them ------------------------------------------------------------------


def test_what_is_said_of_a_bad_line_moves_no_cursor_and_has_an_end(tmp_path: Any) -> None:
    odd = [
        {**GOOD, "\x1b[2Jforged\nline 7: fine": 1},
        {**GOOD, "x" * 100_000: 1},
        {**GOOD, "tenant": "\x1b]0;title\x07"},
        {**GOOD, "status": "\u202ewen\x9b31m"},
        {**GOOD, "created_at": "\x1b[31m"},
    ]
    file = tmp_path / "chats.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in odd))
    result = run("import_chats", file).err.splitlines()
    assert [line.partition(":")[0] for line in result[:5]] == [f"line {n}" for n in range(1, 6)]
    assert all(line.isprintable() and len(line) <= 300 for line in result)


@pytest.mark.parametrize(
    "arguments",
    [("configure_memory", "a/b", "--focus"), ("recall_memory", "a/b"), ("show_memory", "a/b", "--question")],
)
def test_an_argument_that_is_no_utf8_is_one_line(tmp_path: Any, arguments: tuple[str, ...]) -> None:
    ran = shell(*arguments, b"caf\xe9".decode("utf-8", "surrogateescape"), data=tmp_path)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "not valid UTF-8" in ran.err


def test_a_focus_that_cannot_be_stored_is_refused_by_name() -> None:
    for focus in ("\ud800", "\x00", 5):
        with pytest.raises(InvalidInput, match="focus: must be text"):
            services.configure(factories.make_bank(), actor="alice", focus=focus, now=NOW)
    assert Bank.objects.filter(focus="").count() == 3

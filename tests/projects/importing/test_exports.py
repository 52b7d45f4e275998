"""Readers of other products' exports: each conversation as it was shown, and nothing but what people read."""

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memorybank.exceptions import InvalidInput
from projects.importing.exports import BadConversation, ExportedConversation, LeftOut, archive, json_items, read_export
from projects.models import SLUG

FOLDER = Path(__file__).parent / "exports"


def fixture(name: str) -> bytes:
    return (FOLDER / f"{name}.json").read_bytes()


def zipped(**members: bytes) -> io.BytesIO:
    """A zip; ``__`` in a name stands for a dot."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name.replace("__", "."), content)
    return file


def read(content: bytes | io.BytesIO, name: str = "export.json", format: str = "") -> list[Any]:
    return list(read_export(io.BytesIO(content) if isinstance(content, bytes) else content, name, format)[1])


def good(content: bytes | io.BytesIO) -> dict[str, ExportedConversation]:
    return {found.key: found for found in read(content) if isinstance(found, ExportedConversation)}


def bad(content: bytes | io.BytesIO) -> list[str]:
    return [str(found) for found in read(content) if isinstance(found, BadConversation)]


def said(conversation: ExportedConversation) -> list[tuple[str, str]]:
    return [(turn.question, turn.answer) for turn in conversation.turns]


@pytest.mark.parametrize("name", ["chatgpt", "claude", "open-webui", "librechat", "mem0", "restai"])
def test_a_format_is_found_by_what_is_in_the_file(name: str) -> None:
    assert read_export(io.BytesIO(fixture(name)), "f")[0] == name
    with pytest.raises(InvalidInput, match="is an export of"):
        read_export(io.BytesIO(fixture(name)), "f", "mem0" if name != "mem0" else "claude")


def test_chatgpt_shows_the_branch_of_the_current_node_without_tools_and_instructions() -> None:
    chat = good(fixture("chatgpt"))["69a5-go-live"]
    assert said(chat) == [
        ("Our go-live is on 9 June.", "Noted: 9 June."),
        ("Luc Bernard signs for finance.", "Noted."),
    ]
    assert [turn.key for turn in chat.turns] == ["a2", "a3"]
    assert (chat.title, chat.turns[0].model) == ("Go-live date", "gpt-4o")
    assert chat.turns[0].created_at.isoformat() == "2026-03-02T10:01:40+00:00"
    assert chat.left_out == {LeftOut.UNANSWERED: 1, LeftOut.FILES: 1}


def test_chatgpt_s_other_branches_are_versions_of_the_turn_that_they_begin_at() -> None:
    chat = good(fixture("chatgpt"))["69a5-go-live"]
    versions = [[turn.key for turn in version] for version in chat.versions[0]]
    assert versions == [["a1", "a1b"], ["a2r"]]
    assert [turn.key for turn in chat.in_order()] == ["a1", "a1b", "a2r", "a2", "a3"]
    assert chat.replaced() == {"a2": ["a2r"], "a2r": ["a1", "a1b"]}


def test_a_bad_conversation_is_named_with_its_field_and_does_not_lose_the_others() -> None:
    assert list(good(fixture("chatgpt"))) == ["69a5-go-live", "69a5-invoices"]
    assert bad(fixture("chatgpt")) == ["export.json, item 2: create_time: “last spring” is not a time."]
    assert bad(fixture("open-webui")) == ["export.json, item 3: history: is missing."]
    assert bad(fixture("mem0")) == ["export.json, item 1, result 4: memory: is missing."]
    assert bad(fixture("restai")) == ["export.json, item 1, row 5: date: is missing."]
    no_list = read(b'{"results": "none"}', format="mem0")
    assert list(map(str, no_list)) == ["export.json, item 1, result 1: memory: must be an object, not NoneType."]


def test_claude_s_blocks_are_read_without_thoughts_and_tools() -> None:
    chats = good(fixture("claude"))
    assert said(chats["c1a0de00-0001"]) == [
        ("We chose PostgreSQL 16.", "Noted, PostgreSQL 16."),
        ("Marta Quiroga is the DBA.", "Thank you. Marta is the DBA."),
    ]
    assert chats["c1a0de00-0001"].replaced() == {"m5": ["m4"]}
    assert chats["c1a0de00-0001"].left_out == {LeftOut.FILES: 1}
    assert said(chats["c1a0de00-0002"]) == [("The crane is orange.", "Orange it is.")]  # without parents


def test_open_webui_s_chats_have_people_and_no_folded_thoughts() -> None:
    chats = good(fixture("open-webui"))
    assert said(chats["0b9d-ow-1"]) == [
        ("The rack has 42 units.", "Understood, 42 units."),
        ("The power budget is 8 kW.", "8 kW, noted."),
    ]
    assert chats["0b9d-ow-1"].replaced() == {"r2": ["r1"]}
    assert [chat.person for chat in chats.values()] == ["5f1c-priya", "77aa-tom"]


def test_librechat_s_nested_messages_are_the_same_as_its_list() -> None:
    nested = good(fixture("librechat"))["lc-7d20"]
    assert said(nested) == [
        ("Oliver Stannard is our contact at Paywright.", "Oliver Stannard, noted."),
        ("He calls on Mondays.", "Mondays, noted."),
    ]
    first = json.loads(fixture("librechat"))
    rows, waiting = [], list(first.pop("messagesTree"))
    while waiting:
        row = waiting.pop(0)
        waiting.extend(row.pop("children"))
        rows.append(row)
    assert good(json.dumps({**first, "messages": rows}).encode())["lc-7d20"] == nested


def test_mem0_s_facts_are_turns_of_one_conversation_for_each_person() -> None:
    chats = good(fixture("mem0"))
    assert said(chats["alex"]) == [("Works at Northwind as a planner", ""), ("Moved to Porto in June", "")]
    assert (chats["maria"].person, chats["maria"].turns[0].key) == ("maria", "f38b689d-3")
    as_list = json.dumps(json.loads(fixture("mem0"))["results"]).encode()
    assert good(as_list) == chats


def test_restai_s_rows_are_grouped_by_conversation_and_person_oldest_first() -> None:
    chats = good(fixture("restai"))
    assert said(chats["s-1:7"]) == [
        ("Hypercare begins on 9 June.", "Noted, 9 June."),
        ("And when does it end?", "Hypercare ends on 30 June."),
    ]
    assert chats["s-1:7"].left_out == {LeftOut.FAILED: 1}
    assert said(chats["turn-38:9"]) == [("Translate: budget.", "Das Budget.")]


def test_in_a_zip_only_conversations_are_read_in_all_their_parts() -> None:
    first, _, third = json.loads(fixture("chatgpt"))
    parts = {"conversations-000__json": [first], "conversations-001__json": [third], "user__json": {"id": "x"}}
    file = zipped(**{name: json.dumps(part).encode() for name, part in parts.items()}, chat__html=b"<html>")
    assert list(good(file)) == ["69a5-go-live", "69a5-invoices"]
    assert bad(file) == []
    nested = zipped(**{"data/conversations__json": fixture("claude")})
    assert list(good(nested)) == ["c1a0de00-0001", "c1a0de00-0002"]


def test_a_zip_of_any_json_files_is_read_whole() -> None:
    other = {**json.loads(fixture("librechat")), "conversationId": "lc-2"}
    files = {"a__json": fixture("librechat"), "b__json": json.dumps(other).encode(), "__MACOSX/a__json": b"junk"}
    file = zipped(**{name.replace("__MACOSX", "_MAC"): content for name, content in list(files.items())[:2]})
    with zipfile.ZipFile(file, "a") as packed:
        packed.writestr("__MACOSX/._a.json", b"junk")
    assert list(good(file)) == ["lc-7d20", "lc-2"]


def test_what_is_no_export_is_refused() -> None:
    for content, words in [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"a": 1}', "is no export of one of these products: ChatGPT, "),
        (b"[1, 2]", "is no export"),
        (b"[]", "is empty"),
        (b'["\xff"]', "not valid UTF-8"),
        (b"[" * 100_000, "too deep"),
        (b"PK\x05\x06" + bytes(18), "has no JSON file"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            read(content)


def test_a_file_that_breaks_off_keeps_what_came_before() -> None:
    content = fixture("chatgpt")[: fixture("chatgpt").rindex(b'"current_node": "ia"')]
    assert list(good(content)) == ["69a5-go-live"]
    assert bad(content)[-1] == "export.json, after item 2: not valid JSON. What follows it in the file was not read."


@pytest.mark.parametrize("behind", [b"\n\nThe end.", b"\n\n]", b"\n\n[]", b"\n\n" + b" " * 2**21 + b"{}"])
def test_text_after_the_end_of_an_array_is_named_and_what_came_before_is_kept(behind: bytes) -> None:
    content = fixture("chatgpt").rstrip()
    line = content.count(b"\n") + 3
    expected = f"text after the closing “]” in line {line}. What follows it in the file was not read."
    assert list(good(content + behind)) == list(good(content))
    assert bad(content + behind)[-1].endswith(expected)
    assert bad(content + b"\n \r\n") == bad(content)
    with pytest.raises(InvalidInput, match="after the closing “]” in line 3"):
        read(b"[]" + behind)


def test_a_damaged_zip_is_named_and_keeps_what_came_before() -> None:
    noise = random.Random(1).randbytes(3 * 2**20).hex()
    rows = [json.loads(fixture("claude"))[1], {"uuid": "big", "noise": noise}]
    content = bytearray(zipped(conversations__json=json.dumps(rows).encode()).getvalue())
    content[len(content) - 200_000 : len(content) - 199_000] = bytes(1000)
    found = read(bytes(content), "export.zip")
    assert found[0].key == "c1a0de00-0002"
    assert str(found[-1]) == "export.zip: cannot be unpacked. What follows it in the file was not read."


def test_a_zip_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 2**20)
    blanks = json.dumps(json.loads(fixture("claude"))[1:]).encode()[:-1] + b" " * (50 * 2**20) + b"]"
    found = read(zipped(conversations__json=blanks), "export.zip")
    assert found[0].key == "c1a0de00-0002"
    assert "more than 1,048,576 bytes when it is unpacked" in str(found[-1])


def test_a_zip_with_too_many_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    with pytest.raises(InvalidInput, match="3 files, at most 2 are allowed"):
        read(zipped(a__png=b"", b__png=b"", conversations__json=fixture("claude")))


def test_a_zip_writes_nothing_outside_of_itself(tmp_path: Path) -> None:
    file = zipped(**{f"../../{tmp_path.name}/conversations__json": fixture("claude")})
    assert len(good(file)) == 2
    assert list(tmp_path.iterdir()) == []


def test_items_are_read_the_same_in_chunks_of_any_size() -> None:
    rows = [{"text": "ä€𝄞 " * size, "n": size} for size in (0, 1, 500, 3)]
    content = json.dumps(rows, ensure_ascii=False).encode()
    for size in (1, 2, 3, 7, 1000):

        class Slow(io.BytesIO):
            def read(self, wanted: int | None = -1, /, size: int = size) -> bytes:
                return super().read(min(size, wanted or size))

        assert list(json_items.items(Slow(content))) == rows


def test_an_item_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_items, "MAX_ITEM_CHARACTERS", 1000)
    monkeypatch.setattr(json_items, "CHUNK_BYTES", 100)
    with pytest.raises(InvalidInput, match="item of more than 1,000 characters"):
        list(json_items.items(io.BytesIO(b'["' + b"x" * 5000 + b'"]')))


def test_a_circle_of_parents_ends() -> None:
    item = json.loads(fixture("chatgpt"))[2]
    item["mapping"]["iu"]["parent"] = "ia"
    chat = good(json.dumps([item]).encode())["69a5-invoices"]
    assert len(chat.turns) <= 1


def line(**changes: Any) -> bytes:
    row = {"tenant": "acme", "project": "apollo", "chat": "c-17", "user": "ann", "question": "We chose Postgres 16."}
    return json.dumps({**row, "answer": "Noted.", "created_at": "2026-03-02T10:00:00Z", **changes}).encode() + b"\n"


def test_json_lines_are_read_with_each_person_s_turns_of_a_chat_apart() -> None:
    content = (
        line(title="Database") + line(user="ben", id=7, answer="") + b"\n" + line(created_at="2026-03-01T10:00+01:00")
    )
    chats = {(chat.key, chat.person): chat for chat in read(content) if isinstance(chat, ExportedConversation)}
    assert list(chats) == [("c-17", "ann"), ("c-17", "ben")]
    ann, ben = chats.values()
    assert (ann.title, [turn.created_at.isoformat() for turn in ann.turns]) == (
        "Database",
        ["2026-03-01T09:00:00+00:00", "2026-03-02T10:00:00+00:00"],
    )
    assert [(turn.key, turn.answer) for turn in ben.turns] == [("7", "")]
    again = {turn.key for chat in read(content) for turn in chat.turns}
    assert again == {turn.key for chat in chats.values() for turn in chat.turns}
    assert read_export(io.BytesIO(b"[" + line() + b"]"), "f")[0] == read_export(io.BytesIO(line()), "f")[0] == "jsonl"


def test_json_lines_without_an_answer_to_remember_are_counted_and_bad_ones_are_named() -> None:
    content = (
        line(status="stopped") + line(status="error") + line(status="pending") + line(created_at="2026-03-02T10:00")
    )
    damaged = line()[:-9] + b"\n\n" + line(question="\n").replace(rb"\n", b"\xff")
    found = read(damaged + content + line(answr="") + line(tenant="no slug") + line(question=5))
    [chat] = [one for one in found if isinstance(one, ExportedConversation)]
    assert (len(chat.turns), chat.left_out) == (1, {LeftOut.FAILED: 1, LeftOut.UNANSWERED: 1})
    assert [str(bad) for bad in found if isinstance(bad, BadConversation)] == [
        "export.json, line 1: not valid JSON at column 158.",
        "export.json, line 3: not valid UTF-8.",
        "export.json, line 7: created_at: has no time zone; write it like 2026-05-08T13:56:00Z.",
        "export.json, line 8: answr: unknown field.",
        "export.json, line 9: tenant: “no slug” is not a slug. " + SLUG.message,
        "export.json, line 10: question: must be a text, not int.",
    ]


@pytest.mark.parametrize("first", [b"{", b"null", b'{"tenant": "acme"}', b"\xff", b'"' + b"x" * 2_000_000])
@pytest.mark.parametrize("format", ["", "jsonl"])
def test_no_damaged_first_line_refuses_the_others(first: bytes, format: str) -> None:
    bad, chat = read(first + b"\n" + line(), format=format)
    assert (str(bad)[:19], len(chat.turns)) == ("export.json, line 1", 1)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"Minutes of 2 March\n\nWe chose Postgres 16.\n", "export.json: not valid JSON."),
        (line()[:-9], "export.json: not valid JSON."),
        (b'{"tenant": "acme"}\n', "JSON Lines: one turn a line, with the fields tenant, project, chat, user, question"),
    ],
)
def test_a_file_without_any_line_of_ours_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        read(content)


def test_json_lines_of_several_projects_are_refused_with_the_command_that_takes_them() -> None:
    with pytest.raises(InvalidInput, match=r"of 2 projects.* python manage.py import_chats FILE"):
        read(line() + line(project="zeus"))

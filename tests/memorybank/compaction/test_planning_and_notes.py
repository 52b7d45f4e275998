"""Planning a compaction, eliding tool results and verifying notes: pure functions, with any input."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.compaction.checkpoint_notes import (
    SECTIONS,
    CheckpointNote,
    by_section,
    drop_replaced,
    drop_unsupported,
    extract_notes,
    goal_note,
    parse_notes,
    truncate_to_budget,
)
from memorybank.compaction.planning import (
    ELISION_MARK,
    STUB_TOKENS,
    CompactionBudget,
    count_kept_turns,
    elide_middle,
    elide_tool_results,
    quote_people,
)
from memorybank.core.turns import Turn, Utterance
from memorybank.language import tokens

CREATED_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
ENCODING = "o200k_base"

texts = st.text(alphabet="ab cdé\n中.1", max_size=60)
utterances = st.builds(
    Utterance, st.sampled_from(["user", "assistant", "tool"]), st.sampled_from(["Ann", "call"]), texts
)
turns = st.lists(
    st.builds(Turn, st.integers(1, 99), st.just(CREATED_AT), st.lists(utterances, max_size=4).map(tuple)), max_size=8
)
notes = st.lists(st.builds(CheckpointNote, st.sampled_from(SECTIONS), texts), max_size=12)


def turn(*said: tuple[str, str], number: int = 1) -> Turn:
    made = (Utterance(role, "result of log" if role == "tool" else "Ann", text) for role, text in said)  # type: ignore[arg-type]
    return Turn(number, CREATED_AT, tuple(made))


def size(made: list[Turn]) -> int:
    return sum(tokens.count(u.text) for item in made for u in item.utterances)


class TestPlanning:
    def test_the_parts_of_a_shortened_chat_leave_half_of_the_window(self) -> None:
        for window in (500, 2_048, 32_000, 200_000):
            for harder in (False, True):
                budget = CompactionBudget.of(window, 12_000, harder=harder)
                assert budget.kept + budget.words + budget.notes <= window / (4 if harder else 2)

    @given(st.lists(st.integers(0, 9_000), max_size=20), st.booleans())
    def test_the_newest_turns_are_kept_as_far_as_they_fit(self, sizes: list[int], harder: bool) -> None:
        budget = CompactionBudget.of(32_000, 12_000, harder=harder)
        kept = count_kept_turns(sizes, budget)
        assert kept <= min(len(sizes), budget.turns)
        assert sum(sizes[len(sizes) - kept :]) <= budget.kept
        one_more = sizes[len(sizes) - kept - 1 :]
        assert kept in (len(sizes), budget.turns) or sum(one_more) > budget.kept

    def test_tool_output_goes_from_the_middle_outwards_and_only_as_much_as_must(self) -> None:
        made = [
            turn(("user", "hi"), ("tool", "first " + "word " * 196 + "last"), number=number) for number in range(10)
        ]
        assert elide_tool_results(made, 3_000, ENCODING) == made

        def gone(room: int) -> list[int]:
            return [
                message.id
                for message in elide_tool_results(made, room, ENCODING)
                if ELISION_MARK in message.utterances[1].text
            ]

        assert gone(1_900) == [4]
        assert gone(1_750) == [4, 5]
        assert gone(1_300) == [2, 3, 4, 5, 6]
        assert gone(10) == list(range(10))
        left = elide_tool_results(made, 10, ENCODING)[0].utterances[1].text
        assert left.startswith("first word") and left.endswith("word last") and tokens.count(left) <= STUB_TOKENS

    @given(turns, st.integers(0, 200))
    def test_thinning_touches_nothing_but_results_of_tools(self, made: list[Turn], room: int) -> None:
        thin = elide_tool_results(made, room, ENCODING)
        for before, after in zip(made, thin, strict=True):
            for original, left in zip(before.utterances, after.utterances, strict=True):
                result = original.role == "tool" and original.speaker != "call"
                assert left == original or (result and left.text == elide_middle(original.text, STUB_TOKENS, ENCODING))
        assert size(made) > room or thin == made

    @given(turns, st.integers(0, 120))
    def test_own_words_are_verbatim_and_within_their_room(self, made: list[Turn], room: int) -> None:
        kept = quote_people(reversed(made), room, ENCODING)
        assert sum(tokens.count(item) + 3 for item in kept) <= room + 8  # the mark of a cut

    def test_own_words_are_the_newest_in_their_order(self) -> None:
        made = [turn(("user", f"number {n}"), ("assistant", "ok"), number=n) for n in range(5)]
        assert quote_people(reversed(made), 24, ENCODING) == ["Ann: number 2", "Ann: number 3", "Ann: number 4"]

    def test_a_message_that_is_too_long_keeps_its_ends(self) -> None:
        text = "begin " + "middle " * 500 + "end"
        short = elide_middle(text, 60, ENCODING)
        assert short.startswith("begin") and short.endswith("end") and ELISION_MARK in short
        assert tokens.count(short) <= 60


class TestNotes:
    def test_it_reads_lines_of_sections_and_no_prose(self) -> None:
        answer = "Here are my notes:\n- goal: Ship it\n* **Decision**: Postgres 16\n- nothing\n\n- it rains\n1. no"
        assert parse_notes(answer) == [
            CheckpointNote("goal", "Ship it"),
            CheckpointNote("decision", "Postgres 16"),
            CheckpointNote("context", "it rains"),
        ]

    @pytest.mark.parametrize("answer", ["", "- nothing", "- nothing.", "-", "- goal:", "I cannot do that."])
    def test_an_answer_without_a_line_has_no_notes(self, answer: str) -> None:
        assert parse_notes(answer) == []

    @given(st.text(max_size=300))
    def test_no_answer_forges_a_fence_or_a_heading(self, answer: str) -> None:
        for note in parse_notes(answer + "\n- goal: <<<earlier\n- goal: x earlier>>>"):
            assert "\n" not in note.text and "<<<" not in note.text and ">>>" not in note.text

    def test_what_no_source_states_is_no_note(self) -> None:
        source = "The script is /srv/tools/move.py, PID 8812, https://a.example/x"
        good = [
            CheckpointNote("context", f"See {what}")
            for what in ("/srv/tools/move.py", "PID 8812", "https://a.example/x")
        ]
        bad = [
            CheckpointNote("context", f"See {what}")
            for what in ("/srv/tools/remove.py", "PID 8813", "https://b.example/x")
        ]
        assert drop_unsupported([*good, *bad, good[0]], [source]) == good

    @given(notes, st.integers(0, 60))
    def test_fitted_notes_fit_and_stay_in_order(self, made: list[CheckpointNote], room: int) -> None:
        left = truncate_to_budget(made, room, ENCODING)
        assert sum(note.cost(ENCODING) for note in left) <= room
        rest = iter(made)
        assert all(note in rest for note in left)

    def test_what_is_done_gives_way_before_what_is_decided_and_the_oldest_first(self) -> None:
        made = [
            CheckpointNote("goal", "g"),
            CheckpointNote("done", "old"),
            CheckpointNote("decision", "d"),
            CheckpointNote("done", "new"),
        ]
        assert truncate_to_budget(made, 12, ENCODING) == [made[0], made[2], made[3]]
        assert truncate_to_budget(made, 8, ENCODING) == [made[0], made[2]]

    def test_each_section_has_its_place(self) -> None:
        assert list(by_section([])) == list(SECTIONS)
        assert by_section([CheckpointNote("next", "a"), CheckpointNote("next", "b")])["next"] == ["a", "b"]

    def test_without_a_model_what_is_said_to_be_replaced_is_no_note(self) -> None:
        old = CheckpointNote(
            "decision", "marta: Decision: Ledgerline will use MySQL 8, because ops runs six MySQL instances."
        )
        new = CheckpointNote("decision", "priya: We revised the database decision: PostgreSQL 16 instead of MySQL 8.")
        other = CheckpointNote("context", "marta: The ops team runs six servers.")
        assert drop_replaced([old, other, new]) == [other, new]
        assert drop_replaced([new, old]) == [new, old]

    def test_without_a_model_sentences_are_noted_by_their_signs(self) -> None:
        decision = turn(("user", "Move billing to Postgres\nWe decided to use Postgres 16 for the billing service."))
        assert goal_note([decision]) == [CheckpointNote("goal", "Move billing to Postgres")]
        assert [note.section for note in extract_notes([decision], 500, ENCODING)] == ["context", "decision"]

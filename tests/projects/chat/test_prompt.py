"""Prompt assembly: what is sent, in which order, and what is left out."""

from itertools import count as numbers
from unittest import TestCase

from hypothesis import given
from hypothesis import strategies as st

from memorybank.exceptions import InvalidInput
from memorybank.llm import MESSAGE_TOKENS
from memorybank.services import PromptMemory, Text
from projects.chat.prompt import DEFAULT_SYSTEM, EarlierTurn, Prompt, answer_reserve, assemble


def words(text: str) -> int:
    """A counter a reader can check by eye."""
    return len(text.split())


def prompt(
    *turns: EarlierTurn,
    system: str = "Be kind.",
    memory: str = "",
    recalled: str = "",
    message: str = "Hello",
    context: int = 1000,
    checkpoint: str = "",
) -> Prompt:
    """``turns`` in the order they happened."""
    return assemble(
        system=system,
        memory=PromptMemory(Text(memory, words(memory)), Text(recalled, words(recalled))),
        newest_first=reversed(turns),
        message=message,
        context_tokens=context,
        checkpoint=checkpoint,
        count=words,
    )


class AssemblyTest(TestCase):
    def test_it_sends_system_memory_turns_and_message_in_this_order(self) -> None:
        made = prompt(
            EarlierTurn("one?", "one."), EarlierTurn("two?", "two."), memory="We use Postgres.", message="three?"
        )

        self.assertEqual(
            [(m["role"], m["content"]) for m in made.messages],
            [
                ("system", "Be kind.\n\nWe use Postgres."),
                ("user", "one?"),
                ("assistant", "one."),
                ("user", "two?"),
                ("assistant", "two."),
                ("user", "three?"),
            ],
        )

    def test_it_adds_nothing_for_an_empty_memory(self) -> None:
        self.assertEqual(prompt().messages[0]["content"], "Be kind.")

    def test_what_is_recalled_stands_after_the_newest_message_and_nowhere_else(self) -> None:
        made = prompt(EarlierTurn("one?", "one."), memory="We use Postgres.", recalled="Notes: …", message="two?")

        contents = [m["content"] for m in made.messages]
        self.assertEqual(contents, ["Be kind.\n\nWe use Postgres.", "one?", "one.", "two?\n\nNotes: …"])

    def test_a_message_that_leaves_no_room_for_notes_goes_without_them(self) -> None:
        made = prompt(recalled="note " * 500, message="word " * 60, context=120)

        self.assertEqual(made.messages[-1]["content"], "word " * 60)
        self.assertEqual(made.memory.recalled, Text())

    @given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1), st.text()), min_size=1, max_size=6))
    def test_every_prompt_begins_with_the_one_before_up_to_its_notes(self, said: list[tuple[str, str, str]]) -> None:
        """So a provider's cache goes on hitting: no earlier message ever changes."""
        turns = [EarlierTurn(question, answer) for question, answer, _ in said]
        sent = [
            prompt(*turns[:number], memory="We use Postgres.", recalled=notes, message=question, context=100_000)
            for number, (question, _, notes) in enumerate(said)
        ]
        for before, after, (question, answer, _) in zip(sent, sent[1:], said, strict=False):
            now = [(m["role"], m["content"]) for m in after.messages]
            then = [(m["role"], m["content"]) for m in before.messages]
            self.assertEqual(now[: len(then) - 1], then[:-1])
            self.assertTrue(then[-1][1].startswith(now[len(then) - 1][1]))
            self.assertEqual(now[len(then) - 1 :][:2], [("user", question), ("assistant", answer)])

    def test_it_has_a_system_prompt_of_its_own_when_the_project_has_none(self) -> None:
        self.assertEqual(prompt(system=" \n").messages[0]["content"], DEFAULT_SYSTEM)

    def test_the_same_input_gives_the_same_prompt(self) -> None:
        self.assertEqual(prompt(EarlierTurn("a", "b")), prompt(EarlierTurn("a", "b")))

    def test_it_keeps_the_newest_turns_whole(self) -> None:
        old, new = EarlierTurn("old " * 50, "old"), EarlierTurn("new " * 50, "new")
        made = prompt(old, new, context=120)

        self.assertEqual(made.turns, 1)
        self.assertEqual(made.messages[1]["content"], new.question)

    def test_a_checkpoint_stands_where_the_turns_stood_that_it_was_made_of(self) -> None:
        made = prompt(
            EarlierTurn("two?", "two."), memory="We use Postgres.", checkpoint="Goal: ship.", message="three?"
        )

        self.assertEqual(
            [(m["role"], m["content"]) for m in made.messages],
            [
                ("system", "Be kind.\n\nWe use Postgres."),
                ("user", "Goal: ship.\n\ntwo?"),
                ("assistant", "two."),
                ("user", "three?"),
            ],
        )

    def test_a_checkpoint_is_sent_before_any_turn_is_and_the_prompt_says_when_a_turn_is_not(self) -> None:
        turns = [EarlierTurn("word " * 30, "word " * 30), EarlierTurn("two?", "two.")]
        made = prompt(*turns, checkpoint="word " * 60, context=140)

        self.assertTrue(made.messages[1]["content"].startswith("word"))
        self.assertEqual((made.turns, made.cut), (1, True))
        self.assertFalse(prompt(*turns).cut)

    def test_a_message_that_fits_only_without_the_checkpoint_is_sent_without_it(self) -> None:
        made = prompt(checkpoint="word " * 300, message="long " * 600, recalled="Notes: …")

        self.assertEqual([m["content"] for m in made.messages[1:]], ["long " * 600])
        self.assertTrue(made.cut)

    def test_it_leaves_no_gap_when_an_old_turn_would_still_fit(self) -> None:
        made = prompt(
            EarlierTurn("tiny", "tiny"), EarlierTurn("big " * 500, "big"), EarlierTurn("new", "new"), context=120
        )

        self.assertEqual([m["content"] for m in made.messages[1:]], ["new", "new", "Hello"])

    def test_it_stops_reading_turns_once_the_window_is_full(self) -> None:
        read = []

        def endless() -> object:
            for number in numbers():
                read.append(number)
                yield EarlierTurn("ten words " * 5, "")

        assemble(
            system="s", memory=PromptMemory(), newest_first=endless(), message="m", context_tokens=120, count=words
        )  # type: ignore[arg-type]
        self.assertLess(len(read), 10)

    def test_it_joins_questions_nobody_answered_because_models_want_alternating_roles(self) -> None:
        made = prompt(EarlierTurn("one?", ""), EarlierTurn("two?", ""), message="three?")

        self.assertEqual(made.messages[1:], [{"role": "user", "content": "one?\n\ntwo?\n\nthree?"}])

    def test_it_refuses_a_message_that_does_not_fit_and_names_the_limit(self) -> None:
        with self.assertRaisesMessage(InvalidInput, "message: 900 tokens; at most 740 fit into the model's context."):
            prompt(message="word " * 900)

    def test_it_says_so_when_the_memory_leaves_no_room(self) -> None:
        with self.assertRaisesMessage(InvalidInput, "leave no room"):
            prompt(memory="word " * 2000)

    def assertRaisesMessage(self, kind: type[Exception], text: str) -> object:  # noqa: N802
        return self.assertRaisesRegex(kind, text.replace(".", r"\."))

    @given(
        st.lists(st.builds(EarlierTurn, st.text(max_size=80), st.text(max_size=80)), max_size=20),
        st.text(max_size=200),
        st.text(min_size=1, max_size=50),
        st.integers(min_value=300, max_value=2000),
        st.text(max_size=80),
    )
    def test_it_never_exceeds_the_window_less_the_reserve(
        self, turns: list[EarlierTurn], memory: str, message: str, context: int, checkpoint: str
    ) -> None:
        made = prompt(*turns, memory=memory, message=message, context=context, checkpoint=checkpoint)

        sent = sum(words(m["content"]) + MESSAGE_TOKENS for m in made.messages)
        self.assertLessEqual(sent, made.tokens)
        self.assertLessEqual(made.tokens, context - answer_reserve(context))

"""Matching requests to chats: conversations that are edited, undone, re-asked, truncated and compacted.

A small in-memory gateway uses the pure functions alone; simulated clients keep their own messages.
"""

from dataclasses import dataclass, field
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from projects.gateway import conversation_matching
from projects.gateway.conversation_matching import ConversationStep, Recognition
from projects.gateway.messages import Message, assistant_message, parse_request, user_message

ACTIONS = ["say", "regenerate", "edit", "undo", "compact", "truncate"]


@dataclass
class Ledger:
    """Chats as the gateway stores them: steps of outputs, and the outputs that were erased."""

    steps: list[ConversationStep] = field(default_factory=list)
    forgotten: set[int] = field(default_factory=set)
    numbers: count = field(default_factory=count)  # type: ignore[type-arg]
    recognition: str = ""

    def pass_on(self, who: str, messages: list[Message], answer: str) -> tuple[int, int]:
        """Handle one request and its answer; return the chat and the output."""
        turn = parse_request(messages)
        assert turn is not None
        path = conversation_matching.conversation_path(conversation_matching.root_hash("secret", 1, who), turn.before)
        live = [step for step in self.steps if step.output not in self.forgotten]
        chat, self.recognition = conversation_matching.match_chat(path, live)
        chat = next(self.numbers) if chat is None else chat
        own = [step for step in live if step.chat == chat]
        self.forgotten |= conversation_matching.abandoned_outputs(path, own, one_conversation=False)
        replied = assistant_message(answer, [])
        output = next(self.numbers)
        after = conversation_matching.extend(path.end, [turn.question, replied])
        tail = conversation_matching.turn_hash(path.nodes[0], turn.question, replied)
        self.steps.append(ConversationStep(chat, output, path.end, after, tail))
        return chat, output


@dataclass
class Client:
    """A simulated client that keeps the conversation and knows which of its turns are still in it."""

    who: str
    same_words: bool
    turns: list[tuple[str, str, int]] = field(default_factory=list)  # question, answer, output
    chats: list[int] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)  # outputs that the client shortened away; memory keeps them
    undone: set[int] = field(default_factory=set)

    def messages(self, question: str) -> list[Message]:
        messages = []
        for text, answered, _ in self.turns:
            messages += [_user(text), assistant_message(answered, [])]
        return [*messages, _user(question)]

    def say(self, ledger: Ledger, number: int, question: str = "") -> None:
        question = question or ("Go on." if self.same_words else f"question {number}")
        answer = f"answer {number}"  # a model's words differ
        chat, output = ledger.pass_on(self.who, self.messages(question), answer)
        self.turns.append((question, answer, output))
        self.chats.append(chat)

    def take_back(self, index: int) -> str:
        """Undo all turns from ``index`` on; return the first one's question."""
        question = self.turns[index][0]
        self.undone |= {output for _, _, output in self.turns[index:]}
        del self.turns[index:]
        return question


def _user(text: str) -> Message:
    messages = user_message(text, [], -1)
    assert messages is not None
    return messages


def act(client: Client, ledger: Ledger, deed: str, index: int, number: int) -> None:
    """Do one action, if possible. One recorded turn stays, or the chat could not be recognised."""
    long = len(client.turns)
    first = 2 if client.turns and client.turns[0][2] < 0 else 1  # after a summary written by the client
    if deed in ("regenerate", "edit", "undo") and long > first:
        question = client.take_back(first + index % (long - first))
        client.say(ledger, number, question if deed == "regenerate" else "")
    elif deed in ("compact", "truncate") and long > first:
        cut = 1 + index % (long - 1)
        client.dropped |= {output for _, _, output in client.turns[:cut]}
        summary = [("A summary of what was said.", "Understood.", -1)] if deed == "compact" else []
        client.turns = [*summary, *client.turns[cut:]]
        client.say(ledger, number)
    else:
        client.say(ledger, number)


deeds = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(ACTIONS), st.integers(0, 9)), max_size=25)


@given(deeds, st.booleans())
def test_each_keeps_her_own_chat_whatever_she_does_and_only_what_she_took_back_is_forgotten(
    doings: list[tuple[int, str, int]], same_words: bool
) -> None:
    ledger, clients = Ledger(), [Client("", same_words), Client("", same_words), Client("ann", same_words)]
    for number, (who, deed, index) in enumerate([(0, "say", 0), (1, "say", 0), (2, "say", 0), *doings]):
        act(clients[who], ledger, deed, index, number)
    for client in clients:
        assert len(set(client.chats)) == 1, "one conversation, one chat"
        live = {output for _, _, output in client.turns if output >= 0}
        assert not ledger.forgotten & live, "what she still sees is memory"
        assert not ledger.forgotten & (client.dropped - client.undone), "what was cut short was not request back"
    assert not {*clients[0].chats} & {*clients[1].chats}, "strangers never meet"
    assert ledger.forgotten <= set().union(*(client.undone for client in clients))


@given(st.lists(st.tuples(st.sampled_from(["regenerate", "edit", "undo", "say"]), st.integers(0, 9)), max_size=15))
def test_what_is_taken_back_is_forgotten_at_once_while_nothing_is_cut_short(doings: list[tuple[str, int]]) -> None:
    ledger, client = Ledger(), Client("", same_words=False)
    for number, (deed, index) in enumerate([("say", 0), *doings]):
        act(client, ledger, deed, index, number)
    assert ledger.forgotten == client.undone


def test_strangers_with_the_same_first_message_and_the_same_answer_do_not_meet() -> None:
    ledger, ann, bob = Ledger(), Client("", False), Client("", False)
    for client in (ann, bob):
        chat, output = ledger.pass_on("", [_user("hi")], "Hello!")
        client.turns, client.chats = [("hi", "Hello!", output)], [chat]
    assert ann.chats != bob.chats
    for number, client in enumerate((ann, bob, ann, bob)):
        client.say(ledger, number)
        assert ledger.recognition == (Recognition.NEW if number < 2 else Recognition.SAME), "ambiguous is new"
    assert not set(ann.chats) & set(bob.chats)
    assert not ledger.forgotten


def test_the_same_words_of_somebody_else_or_under_another_key_are_unknown() -> None:
    messages = [_user("hi"), assistant_message("Hello!", [])]
    places = {
        conversation_matching.conversation_path(conversation_matching.root_hash("s", key, who), messages).end
        for key in (1, 2)
        for who in ("", "ann", "bob")
    }
    assert len(places) == 6


def test_a_history_from_elsewhere_is_a_new_chat() -> None:
    ledger, client = Ledger(), Client("", False, turns=[("told elsewhere", "answered elsewhere", -1)])
    client.say(ledger, 1)
    assert ledger.recognition == Recognition.NEW
    client.say(ledger, 2)
    assert ledger.recognition == Recognition.SAME


def test_an_answer_that_the_client_edited_is_the_same_chat() -> None:
    ledger, client = Ledger(), Client("", False)
    for number in range(3):
        client.say(ledger, number)
    question, answer, output = client.turns[-1]
    client.turns[-1] = (question, f"{answer}, in other words", output)
    client.say(ledger, 9)
    assert ledger.recognition == Recognition.EDITED
    assert len(set(client.chats)) == 1
    assert ledger.forgotten == {output}


def test_reminders_white_space_and_lists_of_parts_make_no_difference() -> None:
    reminded = user_message("As  it is.\n<system-reminder>Today is Monday.</system-reminder>", [], 0)
    assert reminded is not None
    assert _user("As it is.").fingerprint == reminded.fingerprint
    assert user_message("<system-reminder>Nothing of hers.</system-reminder>", [], 0) is None

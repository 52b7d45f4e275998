"""What a program is told for one member reaches nobody else: not as a chat's notes, and not by choosing its readers."""

from typing import Any

from memorybank import services
from memorybank.language.terms import terms
from memorybank.models import Output
from projects.models import ConversationNode, Scope
from tests.support.api_client import ProgramCase
from tests.support.cast import NOON, without_models

SECRET = "The merger with Zarquon closes at 4711 euro on 9 May."
QUESTION = "When does the merger close?"


@without_models
class OtherPeoplesWordsTest(ProgramCase):
    def setUp(self) -> None:
        super().setUp()
        self.switch_on(self.apollo)
        self.speaking = self.issue(self.apollo, [*Scope], "speaks")
        turn = {"chat": "secret", "author": "bob", "question": SECRET, "answer": "Noted.", "private": True}
        self.as_member("bob", "POST", "outputs", turn, status=201)
        services.run_due(now=NOON.replace(year=2100))

    def as_member(self, name: str, method: str, path: str, body: Any = None, **more: Any) -> Any:
        return self.ask(method, path, body, key=self.speaking, headers={"X-Memory-User": name}, **more)

    def answers(self, chat: str, times: int = 1) -> None:
        for number in range(times):
            answers = {
                "question": f"{QUESTION} {number}",
                "answer": f"We decided: {SECRET} " + "That is well understood. " * 30,
            }
            self.as_member("bob", "POST", "outputs", {"chat": chat, "author": "bob", **answers}, status=201)

    def test_notes_of_a_shared_chat(self) -> None:
        self.answers("c-1", 60)
        self.assertTrue(Output.objects.filter(chat__key="c-1", quotes_private=True).exists())
        with self.settings(LLM_CONTEXT_TOKENS=4000):
            made = self.ask("POST", "chats/c-1/compaction", {})
        self.assertNotIn("Zarquon", made["text"])
        self.assertNotIn("Zarquon", str(self.ask("GET", "chats/c-1/compaction")))

    def test_no_other_member_becomes_the_only_reader(self) -> None:
        self.answers("c-1")
        self.as_member("bob", "PATCH", "chats/c-1", {"private": True, "readers": ["alice"]}, status=409)
        self.as_member("bob", "PATCH", "chats/c-1", {"private": True, "readers": ["alice", "bob"]})
        services.run_due(now=NOON.replace(year=2101))
        self.assert_not_shown("alice")
        self.as_member("bob", "PATCH", "chats/c-1", {"private": True, "readers": ["bob"]})
        self.as_member("bob", "PATCH", "chats/c-1", {"private": True, "readers": ["bob"]})

    def test_a_chat_of_the_gateway_stays_its_authors(self) -> None:
        turn = services.record(self.apollo.bank, chat_key="gw", author="bob", question="Hello there.")
        ConversationNode.objects.create(output=turn, chat=turn.chat, before="a", after="b", key=self.row())
        self.as_member("bob", "PATCH", "chats/gw", {"private": True, "readers": ["alice"]}, status=409)
        self.as_member("bob", "PATCH", "chats/gw", {"private": True, "readers": ["bob"]})

    def test_words_that_a_program_got_from_recall_stay_private(self) -> None:
        """It may read more than the memory of a prompt, which is cut to a budget."""
        services.configure(self.apollo.bank, actor="alice", recall_tokens=0, personal_tokens=0)
        hits = self.as_member("bob", "POST", "recall", {"question": QUESTION})["hits"]
        self.assertIn("Zarquon", str(hits))
        for chat, answer in {"c-1": "It is Zarquon.", "c-2": "At the end of the merger talks, for 4711."}.items():
            turn = {"chat": chat, "author": "bob", "question": "When does it close?", "answer": answer}
            self.as_member("bob", "POST", "outputs", turn, status=201)
        services.run_due(now=NOON.replace(year=2101))
        self.assertFalse(Output.objects.filter(chat__key__in=["c-1", "c-2"], quotes_private=False).exists())
        self.assert_not_shown("alice")

    def test_a_word_that_markup_or_hidden_signs_divide_is_recognised(self) -> None:
        arguments = {"name": "write", "arguments": '{"merger": "with\\nZarquon"}'}
        called = [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": arguments}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "Written:\nZarquon"},
        ]
        said: list[tuple[str, list[Any]]] = [("Done.", called[:1]), ("Done.", called[1:])]
        for divided in (
            "Zar\u00adquon",
            "**Zar**quon",
            "Zar\u200bquon",
            "Zarq&#117;on",
            "Zar[quon](https://a.example)",
        ):
            said.append((f"It is {divided}.", []))
        for answer, messages in said:
            turn = {"chat": "c-1", "author": "bob", "question": "With whom?", "answer": answer, "messages": messages}
            self.as_member("bob", "POST", "outputs", turn, status=201)
        marked = Output.objects.filter(chat__key="c-1").order_by("pk").values_list("quotes_private", flat=True)
        self.assertEqual(list(marked), [True] * len(said))

    def test_words_that_others_have_said_or_that_are_everyday_words_are_not_private(self) -> None:
        services.configure(self.apollo.bank, actor="alice", recall_tokens=0, personal_tokens=0)
        self.ask("POST", "outputs", self.output("We sell to Zarquon.", chat="open"), status=201)
        services.run_due(now=NOON.replace(year=2101))
        for question, answer in (
            ("Who buys?", "Zarquon does."),
            ("Is it 4711 euro?", "Yes, 4711 euro."),
            ("And then?", "They merge at 4711."),  # said in this chat
            ("When does the shop open?", "At nine. It closes at six."),
        ):
            turn = {"chat": "c-1", "author": "bob", "question": question, "answer": answer}
            self.as_member("bob", "POST", "outputs", turn, status=201)
        marked = Output.objects.filter(chat__key="c-1", quotes_private=True).values_list("answer", flat=True)
        self.assertEqual(list(marked), [])

    def test_nobody_writes_into_anothers_private_chat(self) -> None:
        own = {"chat": "hers", "author": "alice", "question": "Lunch is at noon on Monday.", "private": True}
        self.as_member("alice", "POST", "outputs", own, status=201)
        turn = {**own, "author": "bob", "question": QUESTION, "answer": f"We decided: {SECRET}"}
        self.as_member("bob", "POST", "outputs", turn, status=409)
        self.ask("POST", "outputs", own, status=409)
        batch = {"outputs": [{**own, "chat": "new"}, {**turn, "chat": "new"}]}
        self.as_member("bob", "POST", "outputs/batch", batch, status=409)
        services.run_due(now=NOON.replace(year=2101))
        self.assert_not_shown("alice")

    def test_a_programs_private_chat_is_for_its_key(self) -> None:
        scopes = [Scope.READ, Scope.WRITE]
        mine, others = (self.issue(self.apollo, scopes, name) for name in ("mine", "others"))
        admin = self.issue(self.apollo, [*scopes, Scope.ADMIN], "admin")
        turn = {"chat": "diary", "author": "ann", "question": "The code is Wombat.", "private": True}
        made = self.ask("POST", "outputs", turn, key=mine, status=201)
        paths = ("chats/diary", "chats/diary/outputs", f"outputs/{made['id']}")
        for path in paths:
            self.ask("GET", path, key=mine)
            self.ask("GET", path, key=admin)
            self.ask("GET", path, key=others, status=404)
        for path in ("chats", "outputs", "authors"):
            self.assertNotIn("diary", str(self.ask("GET", path, key=others)))
            self.assertNotIn("ann", str(self.ask("GET", path, key=others)))
        self.assertIn("diary", str(self.ask("GET", "chats", key=mine)))
        refused = self.ask("POST", "outputs", {**turn, "question": "And again."}, key=others, status=409)
        self.assertNotIn("Wombat", str(refused))
        self.ask("PATCH", "chats/diary", {"private": False}, key=others, status=404)
        self.ask("POST", "outputs", {**turn, "question": "And again."}, key=mine, status=201)

    def test_a_key_erases_no_memory_of_a_chat_that_another_key_began(self) -> None:
        for chat, key in {"c-1": None, "c-2": self.issue(self.apollo, ["write"], "narrow")}.items():
            self.ask("POST", "outputs", self.output(chat=chat), key=key, status=201)
        services.run_due(now=NOON.replace(year=2101))
        facts = [fact["text"] for fact in self.ask("GET", "facts")["items"]]
        narrow = key
        refused = self.ask("PATCH", "chats/c-1", {"private": True}, key=narrow, status=403)
        self.assertIn("another key began", str(refused))
        self.assertEqual([fact["text"] for fact in self.ask("GET", "facts")["items"]], facts)
        self.ask("PATCH", "chats/c-2", {"private": True}, key=narrow)
        self.ask("PATCH", "chats/c-1", {"private": True})
        self.assertEqual(self.ask("GET", "facts")["items"], [])

    def test_what_an_unfinished_answer_quotes_is_known_when_it_goes_on(self) -> None:
        bank = self.apollo.bank
        turn = services.record(bank, chat_key="loop", author="bob", question=QUESTION, status=Output.Status.PENDING)
        services.store_quotes(turn, services.Quotes(words=frozenset(terms("Zarquon"))))
        steps = [{"role": "assistant", "content": "I ask about Zarquon."}]
        self.assertTrue(services.complete(bank, turn, answer="In May.", messages=steps).quotes_private)

    def test_what_a_program_records_for_nobody_leaves_memory_with_the_chat_that_it_repeats(self) -> None:
        ship = {"chat": "ship", "author": "bob", "question": "The Wombat sails from Bremen on 3 April."}
        self.as_member("bob", "POST", "outputs", ship, status=201)
        services.run_due(now=NOON.replace(year=2100, month=2))
        asked = {"chat": "open", "author": "eve", "question": "Which ship?", "answer": "It is the Wombat of Bremen."}
        made = self.ask("POST", "outputs", asked, status=201)
        services.run_due(now=NOON.replace(year=2101))
        self.assertIn("Wombat", str(self.ask("GET", "facts", {"chat": "open"})))
        self.as_member("bob", "PATCH", "chats/ship", {"private": True, "readers": ["bob"]})
        self.assertNotIn("Wombat", str(self.as_member("alice", "GET", "facts")))
        self.assertNotIn("Wombat", str(self.ask("GET", f"outputs/{made['id']}")))

    def test_answers_recorded_in_a_batch_leave_memory_with_the_chats_that_they_repeat(self) -> None:
        ship = {"author": "bob", "question": "The Wombat sails from Bremen on 3 April."}
        for chat in ("ship", "also"):
            self.as_member("bob", "POST", "outputs", {"chat": chat, **ship}, status=201)
        services.run_due(now=NOON.replace(year=2100, month=2))
        asked = {"author": "eve", "question": "Which ship?", "answer": "It is the Wombat of Bremen."}
        batch = {"outputs": [{"chat": "open", **asked}, {"chat": "closed", **asked}]}
        self.ask("POST", "outputs/batch", batch, status=201)
        services.run_due(now=NOON.replace(year=2101))
        for chat in ("ship", "also"):
            self.assertIn("Wombat", str(self.ask("GET", "outputs")))
            self.as_member("bob", "PATCH", f"chats/{chat}", {"private": True, "readers": ["bob"]})
        self.assertNotIn("Wombat", str([self.ask("GET", path) for path in ("outputs", "facts")]))

    def assert_not_shown(self, name: str) -> None:
        self.assertNotIn("Zarquon", str(self.as_member(name, "GET", "facts")))
        self.assertNotIn("Zarquon", str(self.as_member(name, "POST", "recall", {"question": QUESTION})))

"""People as banks know them: who speaks for whom, what a program is given, and what ends when somebody leaves."""

import json
from typing import Any

from memorybank import services
from memorybank.models import Chat
from projects.models import Membership, Role, Scope
from projects.tenancy import api_keys, people
from tests.support.cast import NOON, Cast, without_models

SALARY = "The salary of the quokka surgeon is 91,500 euro from 1 June."


@without_models
class PeopleTest(Cast):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.bob_key = people.person_of(cls.apollo, cls.bob)
        services.record(
            cls.apollo.bank,
            chat_key="salary",
            author="bob",
            question=SALARY,
            private=True,
            readers=[cls.bob_key],
            created_at=NOON,
            now=NOON,
        )
        services.run(bank=cls.apollo.bank)

    def key(self, *scopes: Scope) -> str:
        return api_keys.issue(self.apollo, "desk", scopes, actor="alice", now=NOON)[1]

    def met(self, key: str, name: str) -> set[str]:
        """The addresses at which a program meets the word that is for Bob."""
        headers = {"Authorization": f"Bearer {key}", "X-Memory-User": name}
        responses = {
            path: self.client.get(f"/api/v1/{path}", headers=headers) for path in ("block", "facts", "outputs")
        }
        for path in ("memory", "recall"):
            body = json.dumps({"question": "What does the surgeon get?"})
            responses[path] = self.client.post(f"/api/v1/{path}", body, "application/json", headers=headers)
        self.assertEqual({answer.status_code for answer in responses.values()}, {200})
        return {path for path, answer in responses.items() if b"quokka" in answer.content}

    def test_a_program_is_a_person_only_with_the_scope_for_it(self) -> None:
        everything = {"block", "facts", "outputs", "memory", "recall"}
        self.assertEqual(self.met(self.key(Scope.READ, Scope.PEOPLE), "bob"), everything)
        self.assertEqual(self.met(self.key(Scope.READ), "bob"), set())
        for name in ("alice", "charlie", "nobody", ""):
            self.assertEqual(self.met(self.key(Scope.READ, Scope.PEOPLE), name), set(), name)

    def test_who_leaves_reads_nothing_and_comes_back_as_somebody_else(self) -> None:
        key = self.key(Scope.READ, Scope.PEOPLE)
        Membership.objects.get(user=self.bob, tenant=self.acme).delete()
        self.assertEqual(people.person_of(self.apollo, self.bob), services.NOBODY)
        self.assertEqual(self.met(key, "bob"), set())
        Membership.objects.create(user=self.bob, tenant=self.acme, role=Role.MEMBER)
        self.assertNotEqual(people.person_of(self.apollo, self.bob), self.bob_key)
        self.assertEqual(self.met(key, "bob"), set())

    def test_a_project_for_some_members_knows_only_these(self) -> None:
        self.apollo.members_only = True
        self.apollo.save()
        self.assertEqual(people.person_of(self.apollo, self.bob), services.NOBODY)
        self.assertNotEqual(people.person_of(self.apollo, self.alice), services.NOBODY)
        self.apollo.named.add(Membership.objects.get(user=self.bob))
        self.assertEqual(people.person_of(self.apollo, self.bob), self.bob_key)

    def test_a_program_chooses_readers_only_for_people_it_may_speak_for(self) -> None:
        self.assertEqual(self.change(self.key(Scope.WRITE), private=True, readers=["vera"]), 404)  # another's chat
        services.record(self.apollo.bank, chat_key="open", author="bob", question="Hello there.")
        plain, trusted = self.key(Scope.WRITE), self.key(Scope.WRITE, Scope.PEOPLE)
        self.assertEqual(self.change(plain, "open", private=True, readers=["vera"]), 403)
        self.assertEqual(self.change(trusted, "open", private=True, readers=["charlie"]), 422)
        self.assertEqual(self.change(trusted, "open", private=True, readers=["vera"]), 200)
        readers = services.readers_of(Chat.objects.get(key="open"))
        self.assertEqual(readers, {people.person_of(self.apollo, self.vera)})

    def change(self, key: str, chat: str = "salary", **body: Any) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        answer = self.client.patch(f"/api/v1/chats/{chat}", json.dumps(body), "application/json", headers=headers)
        return answer.status_code

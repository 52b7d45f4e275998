"""What docs/privacy.md says is so: its examples run, and what they promise holds."""

import re
import shlex

from docs.privacy_table import with_table
from memorybank import services
from memorybank.models import ErasureRequest, Fact, Output
from tests.support.cast import NOON, Cast, without_models
from tests.support.commands import ROOT, run
from tests.support.word_search import places

PAGE = (ROOT / "docs/privacy.md").read_text(encoding="utf-8")


def examples() -> list[list[str]]:
    """The commands of the page, in its order."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    return [shlex.split(line)[2:] for block in blocks for line in block.strip().splitlines()]


@without_models
class TestThePrivacyPage(Cast):
    def setUp(self) -> None:
        self.switch_on(self.apollo)
        for author, chat in (("zelda", "shared"), ("alice", "shared"), ("bob", "c-17"), ("bob", "c-18")):
            text = f"The {author}berry of {chat} has to be painted orange before spring."
            self.remember(self.apollo, author, text, chat_key=chat)

    def test_its_examples_run_and_end_with_nothing_left(self) -> None:
        number = services.public_id(Output.objects.get(chat__key="c-18").pk)
        ran = [run(*(number if word == "p3zkqv5q7h2fy" else word for word in example)) for example in examples()]
        self.assertEqual([item.code for item in ran], [0] * len(examples()), [item.err for item in ran])
        self.assertEqual(len(ran), 12)
        self.assertFalse(Output.objects.exists())
        for word in ("zeldaberry", "aliceberry", "bobberry"):
            self.assertEqual(places(word), [])

    def test_who_opts_out_is_out_and_the_others_are_in(self) -> None:
        self.assertEqual(run("leave_out", "acme/apollo", "zelda").code, 0)
        self.assertFalse(Fact.objects.filter(text__contains="zeldaberry").exists())
        self.assertTrue(Fact.objects.filter(text__contains="aliceberry").exists())
        self.assertTrue(Output.objects.filter(author="zelda").exists())


@without_models
class TestTheListsOfOwners(Cast):
    def setUp(self) -> None:
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", "The bobberry contract was signed on Friday.")
        fields = {
            "chat_key": "told",
            "author": "bob",
            "question": "Please forget that.",
            "created_at": NOON,
            "now": NOON,
        }
        services.record(self.apollo.bank, **fields)
        self.request = ErasureRequest.objects.get()

    def post(self, action: str) -> None:
        data = {"action": action, "_selected_action": [self.request.pk]}
        self.client.post("/admin/memorybank/erasurerequest/", data)
        self.request.refresh_from_db()

    def test_an_owner_sees_a_request_erases_it_and_reads_the_receipt(self) -> None:
        self.client.force_login(self.alice)
        self.assertContains(self.client.get("/admin/memorybank/erasurerequest/"), "bob")
        self.post("erase")
        self.assertEqual((self.request.state, self.request.closed_by), ("erased", "alice"))
        self.assertEqual(places("bobberry"), [])
        self.assertContains(self.client.get("/admin/memorybank/erasure/"), "alice")

    def test_an_owner_restores_one(self) -> None:
        self.client.force_login(self.alice)
        self.post("restore")
        self.assertEqual(self.request.state, "restored")
        self.assertFalse(Output.objects.filter(erasure_requested=True).exists())

    def test_another_tenant_sees_and_does_nothing(self) -> None:
        self.client.force_login(self.charlie)
        page = self.client.get("/admin/memorybank/erasurerequest/")
        self.assertEqual(page.context["cl"].result_count, 0)
        self.assertNotContains(page, ">bob<")  # the bare name may stand in a random token
        self.post("erase")
        self.assertEqual(self.request.state, "open")


def test_its_table_is_that_of_the_inventory() -> None:
    assert with_table(PAGE) == PAGE, "run `make docs`"

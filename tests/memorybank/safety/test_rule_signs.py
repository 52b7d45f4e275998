"""What others act on is told as a report: signs of it, and the clauses that tell of their speaker."""

import pytest

from memorybank.core.packing.items import as_line
from memorybank.language.pack_loader import packs
from memorybank.safety.quoting import name_words
from memorybank.safety.rule_signs import ASSISTANTS, AUTHORITY_SIGNS, DEFINING, concerns_others, is_claim
from tests.support.factories import wording_of

NAMES = name_words(["Priya Raman", "Tom Weiss", "李娜"])


@pytest.mark.parametrize("pack", packs(), ids=lambda pack: pack.code)
def test_every_language_has_every_sign(pack: object) -> None:
    assert pack.normative.signs.keys() == {*AUTHORITY_SIGNS, ASSISTANTS, DEFINING, "own"}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "You should mail them the key with each crate.",
        "Support never mentions the battery recall.",
        "The refunds were raised to 900 euros.",
        "A second signature is needed on the contract.",
        "The policy has three pages now.",
        "I left the crate at the gate, please move it.",
        "Der Kran sollte bis Freitag stehen.",
        "Il faut fermer la vanne avant midi.",
        "Hay que cerrar la válvula antes del mediodía.",
        "Bisogna chiudere la valvola.",
        "É preciso fechar a válvula.",
        "阀门应该在中午前关上。",
        "正午までに弁を閉めてください。",
    ],
)
def test_what_others_should_do_concerns_them(text: str) -> None:
    assert concerns_others(text)


@pytest.mark.parametrize(
    "text",
    [
        "I never reply to e-mails after eight.",
        "The crane lifts 40 tonnes, and I measured it.",
        "Harms replaced the seal on 3 May.",
        "Ich kann am Freitag kommen.",
        "Do replies to landlords mention the rent cap?",
    ],
)
def test_what_people_tell_of_themselves_or_ask_concerns_nobody(text: str) -> None:
    assert not concerns_others(text)


@pytest.mark.parametrize(
    "text",
    ["In this team 'settled' means that nobody objected.", "The assistant may read it.", "The earlier note was wrong."],
)
def test_what_a_word_means_and_what_the_assistant_is_is_a_claim_of_anybody(text: str) -> None:
    assert is_claim(text)
    assert as_line(text, NAMES, speaker="Ines", trusted=True)[1]


@pytest.mark.parametrize(
    "text",
    [
        "This is Priya writing, I approve the second payment.",
        "I, Priya Raman, approve the second payment.",
        "Tom Weiss (by phone, this morning) – the rotation moves to May.",
        "The payment goes out today – Priya",
        'Okay, Priya writes "I approve".',
        "On behalf of Tom Weiss the module is handed over.",
        "Hier spricht Tom, die Rechnung ist frei.",
        "我是李娜，我同意付款。",
    ],
)
def test_who_seems_to_begin_to_speak_is_told_in_a_report(text: str) -> None:
    shown = wording_of(text, NAMES)
    assert shown.startswith(("says “", "“")), shown

"""Splitting messages into clean sentences in any language: no markdown, greetings or hidden characters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybank.language.sentences import sentences, tidy
from memorybank.language.terms import terms, words
from memorybank.safety.escaping import escape

ANSWER = """# Migration plan

Here is what I would do:

1. Move the **invoices** table to Postgres 16 first.
2. Keep the [runbook](https://example.org/run) next to the code.

| table | rows |
|---|---|
| invoices | 40 |

```python
print("not a sentence at all")
```

> The cutover window is Sunday from 02:00 to 04:00.
[image: a photo of a whiteboard]
"""


def test_it_reads_the_prose_of_a_markdown_answer_and_nothing_else() -> None:
    assert sentences(ANSWER) == [
        "Move the invoices table to Postgres 16 first.",
        "Keep the runbook next to the code.",
        "The cutover window is Sunday from 02:00 to 04:00.",
    ]


def test_it_takes_a_number_off_a_line_only_where_it_begins() -> None:
    text = "1. Loosen it.\n2. Clean it.\nIf it is off, begin again at step 3. Grease has to be confirmed."
    assert sentences(text)[2:] == ["If it is off, begin again at step 3. Grease has to be confirmed."]


def test_it_does_not_lose_what_follows_a_fence_that_nobody_closed() -> None:
    assert sentences("```\nx = 1\n\nThe server is called atlas.") == ["The server is called atlas."]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Dr. Weiss met us at 5 p.m. in Bonn. It went well.", 2),
        ("Wir treffen uns am 3. Mai in Köln. Danach gibt es Kuchen.", 2),
        ("See e.g. the docs. They are short.", 2),
        ("我们决定用数据库。下周开始迁移！谁负责？", 3),
        ("会議は十時です。場所は東京です。", 2),
        ("क्या हुआ। सब ठीक है।", 2),
        ("Version 3.11.2 is out", 1),
        ("The address `/v2/slots?month=…` with a tag is nearly free.", 1),
    ],
)
def test_it_splits_where_a_sentence_ends_and_only_there(text: str, count: int) -> None:
    assert len(sentences(text)) == count


def test_it_cuts_a_long_sentence_into_clauses_that_both_say_something() -> None:
    text = (
        "The billing service moved to the new cluster in Frankfurt on Tuesday night - "
        "the old machines in Dublin stay switched on until the audit is finished"
    )
    assert sentences(text) == [
        "The billing service moved to the new cluster in Frankfurt on Tuesday night",
        "the old machines in Dublin stay switched on until the audit is finished",
    ]


def test_it_bounds_speech_that_has_no_punctuation_at_all() -> None:
    assert max(len(piece.split()) for piece in sentences("word " * 1000)) <= 45


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Hey Mel! Thanks, I moved to Porto.", "I moved to Porto."),
        ("I signed the contract, Melanie!", "I signed the contract!"),
        ("I met Melanie.", "I met Melanie."),
        ("Yesterday, Anna and I met.", "Yesterday, Anna and I met."),
        ("No, we stay with Celery.", "No, we stay with Celery."),
        ("Hallo, wir bleiben bei Postgres.", "Wir bleiben bei Postgres."),
        ("Merci beaucoup ! On garde le port 8080.", "On garde le port 8080."),
        ("好的，我们用方案二。", "我们用方案二。"),
        ("Done 🎉 :)", "Done"),
        ("Melanie, Tom and Marta go to Dublin.", "Melanie, Tom and Marta go to Dublin."),
        ("I met Ana, Melanie, and Bea.", "I met Ana, Melanie, and Bea."),
        ("Melanie - reconciliation reports", "Melanie - reconciliation reports"),
        ("I think it costs 5 euro.", "I think it costs 5 euro."),
        ("Thanks!", ""),
    ],
)
def test_it_strips_greeting_thanks_and_address(said: str, kept: str) -> None:
    assert tidy(said, frozenset({"melanie"})) == kept


@pytest.mark.parametrize(
    "said",
    [
        "This is not just a display, this is actually a GUI.",
        "You can't just look at reverberation.",
        "And nobody really knows.",
        "Das ist ähm nicht fertig.",
        "On n'a euh pas fini.",
        "No está eh listo.",
        "Não está hum pronto.",
        "Non è davvero pronto.",
        "We don't um have the the transcripts.",
    ],
)
def test_it_leaves_no_word_out_where_something_is_denied(said: str) -> None:
    assert tidy(said) == said


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("And um we we need the uh transcripts.", "We need the transcripts."),
        ("I I I think th the model is good.", "I think the model is good."),
        ("It's it's in the, uh, the w what we call the lattice.", "It's in the what we call the lattice."),
        ("Uh we want a s strong shell in in English.", "We want a strong shell in English."),
        ("He's better at teletext than me, so", "He's better at teletext than me"),
        ("The film never came up, and um,", "The film never came up"),
        ("Äh, wir nehmen ähm die Daten von gestern.", "Wir nehmen die Daten von gestern."),
        ("Euh, on garde euh le port 8080.", "On garde le port 8080."),
        ("Eh, usamos el el puerto de la oficina.", "Usamos el puerto de la oficina."),
        ("Hum, ela também usa a porta do porto.", "Ela também usa a porta do porto."),
        ("Ehm, usiamo la la porta della nostra sede.", "Usiamo la porta della nostra sede."),
        ("嗯，我们用方案二。", "我们用方案二。"),
        ("ええと、会議は十時です。", "会議は十時です。"),
    ],
)
def test_it_leaves_out_sounds_and_words_begun_twice(said: str, kept: str) -> None:
    assert tidy(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        "I know that that had had its day.",
        "You log in in the morning.",
        "We don't know the price and",
        "Do it next week or",
        "Write the c code for the r repository.",
        "Um 5 Uhr treffen wir uns, um die Daten zu holen.",
        "Um dia a equipa vai ter um porto.",
        "Nous nous voyons demain.",
        "Take vitamin c can and 5 m more of the cable.",
        "The fans hum in the office.",
        "It is just a prototype of just two pages.",
        "Walls of 3 mm mean nothing.",
        "They said that the pro problem is the the-end sign.",
    ],
)
def test_it_takes_no_word_for_a_sound_or_a_stammer(said: str) -> None:
    assert tidy(said) == said


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("-5 °C is the lowest temperature", "-5 °C is the lowest temperature"),
        (">3 Tage sind zu lang", ">3 Tage sind zu lang"),
        (">=3 días es demasiado", ">=3 días es demasiado"),
        ("> 2 servers move to Berlin", "2 servers move to Berlin"),
        ("> 10:42 we ship", "10:42 we ship"),
        ("- -€40 is the balance", "-€40 is the balance"),
        ("#12 is fixed", "#12 is fixed"),
        ("~20 Gäste kommen", "~20 Gäste kommen"),
        ("- 5 crates are left", "5 crates are left"),
        ("* 5 Kisten sind übrig", "5 Kisten sind übrig"),
        ("+ 5 cajas quedan", "5 cajas quedan"),
        ("> Anna buys paint", "Anna buys paint"),
        ("> - 4 crates are here", "4 crates are here"),
        ("-> 5 people come", "5 people come"),
    ],
)
def test_the_mark_of_a_list_goes_and_the_sign_of_a_number_stays(said: str, left: str) -> None:
    assert [tidy(sentence) for sentence in sentences(said)] == [left]


def test_a_condition_stays_with_what_hangs_on_it() -> None:
    text = (
        "If the audit fails in March then we pay back the whole loan of 40,000 euro to the bank, "
        "and we close the account in Dublin for good."
    )
    assert sentences(text) == [text]
    first, second = sentences(f"{text[:-1]}, but my guess is that {' they say again and again' * 4} it will pass.")
    assert first.startswith("If the audit fails") and first.endswith("…") and second.startswith("…")


def test_a_sentence_keeps_the_clause_that_doubts_it() -> None:
    text = (
        "The new billing service could move to the cluster in Frankfurt on Tuesday night or on Wednesday morning, "
        "but I don't think so."
    )
    assert sentences(text) == [text]


def test_a_sentence_that_adds_to_something_is_not_cut_within_what_it_adds_to() -> None:
    text = (
        "In addition to the drawings of the housing that Kenji finished last night, and the list of parts, "
        "we are going to build a second gripper in Hamburg."
    )
    assert sentences(text) == [text]


def test_it_shows_where_it_cuts_a_sentence_without_end() -> None:
    first, second, *_ = sentences("word " * 100)
    assert first.endswith("word…") and second.startswith("…word")


def test_it_finds_words_in_scripts_without_spaces() -> None:
    assert words("数据库16") == ["数据", "据库", "16"]
    assert terms("データベースの移行") == terms("データベースの移行！")


def test_it_brings_endings_together_but_not_identifiers() -> None:
    assert terms("invoices") == terms("invoice") and terms("BIL-167") != terms("BIL-168")
    assert terms("policies") == terms("policy") and terms("camping") == terms("camped")


@settings(deadline=None)
@given(st.text())
def test_it_gives_single_lines_for_any_text(text: str) -> None:
    for sentence in sentences(text):
        assert len(sentence.splitlines()) == 1 and sentence == sentence.strip()


@pytest.mark.parametrize("piece", ["a", ".", "| ", "a;", "a - ", "```\n", "> ", "[", "*", "5 ", "数", "\ud800", "_a"])
def test_it_reads_a_huge_message_of_anything(piece: str) -> None:
    assert isinstance(sentences(piece * 300_000), list)


@pytest.mark.parametrize(
    "said",
    [
        "The ledger runs at postgres://ledger:[redacted: password]@db.internal and nobody may touch it.",
        "The password is [redacted: password] for the build server.",
        "[redacted: e-mail address] and [redacted: phone number] are the contacts of the client.",
    ],
)
def test_a_mask_survives_cleaning(said: str) -> None:
    assert [escape(tidy(sentence)) for sentence in sentences(said)] == [said]


@pytest.mark.parametrize(
    ("said", "tidied"),
    [
        ("You know, the pump is loud.", "The pump is loud."),
        ("You know how to toggle the display width.", "You know how to toggle the display width."),
        ("Very few of these things are ready.", "Very few of these things are ready."),
        ("It is basically a good plan.", "It is a good plan."),
        ("It is statistically very significant.", "It is statistically very significant."),
        ("We will definitely ship on Tuesday.", "We will definitely ship on Tuesday."),
        (
            "The idea of having a, you know, transition diagram is good.",
            "The idea of having a transition diagram is good.",
        ),
        ("Wir fahren, weißt du, am Dienstag nach Lyon.", "Wir fahren am Dienstag nach Lyon."),
        ("It does not work, you know, on Tuesday.", "It does not work, you know, on Tuesday."),
        ("I asked whether, as you know, it works.", "I asked whether, as you know, it works."),
        ("The super fixed the boiler.", "The super fixed the boiler."),
    ],
)
def test_a_word_that_only_introduces_or_fills_goes_and_no_other(said: str, tidied: str) -> None:
    assert tidy(said) == tidied

"""Detecting replaced values and the older facts they concern: explicit statements, in any language."""

from datetime import UTC, datetime

import pytest

from memorybank.core.turns import DraftFact, Turn, Utterance
from memorybank.core.value_changes import ValueChange, changes, is_replaced, mark_changes, names_new_value, replacements

NOON = datetime(2026, 4, 14, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sentence", "old"),
    [
        ("We moved the launch from 3 May to 17 May because of the audit.", "3 May"),
        ("PostgreSQL 16 instead of MySQL 8, says the board.", "MySQL 8"),
        ("Updated: invoices 10 years (replacing 7), reminders unchanged.", "7"),
        ("The new booth is B6-031, not B4-112.", "B4-112"),
        ("Two postponements, 12 May → 26 May, announced early.", "12 May"),
        ("Der Termin wird vom Team von 3. Mai auf 17. Mai verschoben.", "3. Mai"),
        ("Wir haben den Start vom 3. Mai auf den 17. Mai verschoben.", "3. Mai"),
        ("Die Abgabe verschiebt sich vom 3. Mai auf den 17. Mai.", "3. Mai"),
        ("Das Team ist von Berlin nach Hamburg umgezogen.", "Berlin"),
        ("Dokumente bleiben 14 statt 30 Tage auf dem Gerät.", "30 Tage auf dem Gerät"),
        ("On prend PostgreSQL au lieu de MySQL.", "MySQL"),
        ("Usaremos PostgreSQL en lugar de MySQL.", "MySQL"),
        ("Vamos usar PostgreSQL em vez de MySQL.", "MySQL"),
        ("发布日期从5月3日改到5月17日。", "5月3日"),
        ("公開日は5月3日から5月17日に変更しました。", "公開日は5月3日"),
    ],
)
def test_it_finds_the_value_that_is_over(sentence: str, old: str) -> None:
    assert ValueChange(old) in replacements(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Should we use PostgreSQL instead of MySQL?",
        "We could move the launch from 3 May to 17 May.",
        "Add X → goodwill to the mapping.",
        "Ribs with 2.0 mm walls instead of 3.5 mm solid ones often save 80 to 100 g.",
        "I would rather walk than take the bus instead of it.",
        "Kenji is away from 27 July to 14 August, and that can't move.",
        "There's a conversion system to go from XML to something else.",
        "Der Zug fährt von Berlin nach Hamburg.",
        "Der Bericht von Anna zur Lage in Bonn wurde geändert.",
        "Der Termin wurde nicht vom 3. Mai auf den 9. Mai verschoben.",
        'Tom says: "The launch moved from 3 May to 17 May."',
        "Unless Gillian objects, the launch moves from 3 May to 17 May.",
        "Assuming Tom agrees, the launch moves from 3 May to 17 May.",
        "Se Solace ritarda, il lancio viene spostato dal 3 maggio al 17 maggio.",
        "如果下雨，发布日期从5月3日改到5月17日。",
        "发布日期没有从5月3日改到5月17日。",
        "The proposal to move the fair from 3 May to 17 May was rejected.",
        "La propuesta de cambiar la feria del 3 de mayo al 17 de mayo fue rechazada.",
        "Tom denies that the fair moved from 3 May to 17 May.",
        "Das Gerücht, dass das Lager von Ulm auf Bonn umzieht, ist falsch.",
        "Luis niega que el almacén se mudó de Jaén a Lugo.",
        "Once legal signs, the contract moves from 3 May to 17 May.",
        "Sobald die Halle frei ist, wird die Messe von 3. Mai auf 17. Mai verschoben.",
        "A huge clue that they try to enter the place rather than to Tango or Vista.",
    ],
)
def test_it_takes_no_question_or_guess_for_a_change(sentence: str) -> None:
    assert replacements(sentence) == []


@pytest.mark.parametrize(
    ("older", "newer", "old", "decided", "expected"),
    [
        ("The launch is on 3 May.", "The launch moves from 3 May to 17 May.", "3 May", False, True),
        ("Lena has her birthday on 3 May.", "The launch moves from 3 May to 17 May.", "3 May", False, False),
        ("The launch is on 13 May.", "The launch moves from 3 May to 17 May.", "3 May", False, False),
        ("Rendering invoices takes 7.5 hours.", "Invoices 10 years (replacing 7).", "7", False, False),
        ("We keep invoices 7 years.", "Invoices: 10 years (replacing 7).", "7", False, True),
        ("Their quote: 0.19 euro per transaction.", "0.14 euro per transaction (before: 0.19)", "0.19", False, True),
        ("We agreed on a prefix: NW- plus the year.", "New prefix is NWC- (before: NW-)", "NW-", False, True),
        ("Ledgerline will use MySQL 8.", "PostgreSQL 16 instead of MySQL 8.", "MySQL 8", True, True),
        ("The wiki explains MySQL 8.", "PostgreSQL 16 instead of MySQL 8.", "MySQL 8", False, False),
        ("Server db2 is in Frankfurt.", "Server db1 moved from Frankfurt to Dublin.", "Frankfurt", False, False),
        ("Server db1 is in Frankfurt.", "Server db1 moved from Frankfurt to Dublin.", "Frankfurt", False, True),
        ("Our server is in Frankfurt.", "Server db1 moved from Frankfurt to Dublin.", "Frankfurt", False, True),
        ("Room 12 has it in Hall 4.", "Room 14 moved from Hall 4 to Hall 5.", "Hall 4", False, False),
        ("Raum 12 liegt in Halle 4.", "Raum 12 wird von Halle 4 auf Halle 5 geändert.", "Halle 4", False, True),
        ("On 2 June the launch is on 3 May.", "On 9 June the launch moves from 3 May to 17 May.", "3 May", False, True),
        ("Push is handed to Tom, Jonas is his backup.", "Push goes from Jonas to Tom Okafor.", "Jonas", False, False),
        (
            "The beta doesn't hang on anybody and starts on 20 April.",
            "The beta moves from 20 April to 5 May.",
            "20 April",
            False,
            True,
        ),
        ("The beta can't start on 20 April.", "The beta moves from 20 April to 5 May.", "20 April", False, False),
        (
            "Postgres 16 instead of MySQL 8 for billing.",
            "Postgres for billing instead of MySQL.",
            "MySQL",
            False,
            False,
        ),
    ],
)
def test_an_older_fact_gives_way_only_if_it_states_that_value_of_the_same_thing(
    older: str, newer: str, old: str, decided: bool, expected: bool
) -> None:
    [replacement] = [stated for stated in replacements(newer) if stated.old == old]
    assert is_replaced(older, newer, replacement, decided=decided) is expected


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Anna's team is in Berlin.", "Tom's team moved from Berlin to Paris."),
        ("The contract with Acme ends on 3 May.", "The contract with Globex was moved from 3 May to 17 May."),
        ("The price of the Basic plan is 20 euros.", "The price of the Pro plan went from 20 euros to 30 euros."),
        ("Valve A opens at 4 bar.", "Valve B was changed from 4 bar to 5 bar."),
        ("Phase 1 ends on 3 May.", "Phase 2 moved from 3 May to 17 May."),
        ("Invoice #17 is due on 3 June.", "The due date of invoice #18 moved from 3 June to 5 June."),
        ("Payslips are kept for 7 years.", "Invoices are now kept for 10 years instead of 7 years."),
        ("El equipo de Ana está en Madrid.", "El equipo de Luis se mudó de Madrid a Sevilla."),
        ("Die Berliner Filiale nutzt SAP.", "Die Pariser Filiale nutzt Odoo statt SAP."),
        ("产品A的价格是20元。", "产品B的价格从20元改为30元。"),
        ("发布价格是120元。", "发布价格从20元改为30元。"),
    ],
)
def test_a_change_of_one_thing_ends_nothing_of_another_of_its_kind(older: str, newer: str) -> None:
    assert [stated for stated in replacements(newer) if is_replaced(older, newer, stated)] == []
    assert replacements(newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("On Thursdays the museum opens at 10:00.", "On Thursdays the museum opens at 12:00 instead of 10:00."),
        ("Monday's call is at 14:00.", "The Monday call moved from 14:00 to 15:00."),
        ("The choir meets in Ulm.", "The band moved from Graz to Linz and the choir moved from Ulm to Bonn."),
        ("The team standup is at 09:30.", "The standup moved from 09:30 to 10:00."),
        ("Die große Halle fasst 80 Personen.", "Die große Halle fasst jetzt 90 statt 80 Personen."),
        ("Die Messe ist am 3. Mai.", "Die Messe wird von 3. Mai auf 17. Mai verschoben."),
        ("El contrato anual termina el 3 de mayo.", "El contrato anual pasa del 3 de mayo al 17 de mayo."),
        ("Support runs on Slack.", "At once, support runs on Teams instead of Slack."),
        ("Das Lager ist in Ulm.", "Wir haben beschlossen, dass das Lager von Ulm auf Bonn wechselt."),
    ],
)
def test_a_change_ends_what_is_said_of_the_same_thing(older: str, newer: str) -> None:
    assert any(is_replaced(older, newer, stated) for stated in replacements(newer))


def test_what_is_quoted_names_a_value_all_the_same() -> None:
    for sentence in ("We say “Careline” instead of Carebook.", "The app was renamed from “Carebook” to “Careline”."):
        assert ValueChange("Carebook") in replacements(sentence)


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("New beta start: Tuesday 5 May.", "Changed: closed beta on 5 May instead of 20 April.", True),
        ("Please draft two lines for the clinics.", "The system starts on 9 June instead of 26 May.", False),
        ("We must keep invoices for 10 years.", "Updated: invoices 10 years (replacing 7).", True),
        ("Write to them about the 7 years.", "Updated: invoices 10 years (replacing 7).", False),
    ],
)
def test_a_question_confirms_a_change_by_the_new_value(text: str, change: str, expected: bool) -> None:
    assert names_new_value(text, change) is expected


def test_a_fact_names_what_it_replaces_if_anybody_in_its_turn_said_so() -> None:
    utterances = (
        Utterance("user", "priya", "Paywright: 0.14 euro now."),
        Utterance("assistant", "assistant", "Not 0.19?"),
    )
    confirmed = (*utterances, Utterance("user", "priya", "The price drops from 0.19 to 0.14 euro."))
    draft = DraftFact("fact", "Paywright asks a price of 0.14 euro.", "priya", NOON.date(), (1,), 0.5)
    assert mark_changes([draft], changes([Turn(1, NOON, utterances)])) == [draft]
    [marked] = mark_changes([draft], changes([Turn(1, NOON, confirmed)]))
    assert marked.text == "Paywright asks a price of 0.14 euro (before: 0.19)"
    assert marked.weight > draft.weight


def test_what_is_replaced_is_named_only_beside_its_new_value() -> None:
    utterances = (
        Utterance("user", "priya", "Training moves to the week of 18 May."),
        Utterance("assistant", "assistant", "Corrected: on 26 May instead of 12 May."),
    )
    for speaker in ("priya", "assistant"):
        draft = DraftFact("fact", "Training moves to the week of 18 May.", speaker, NOON.date(), (1,), 0.5)
        assert mark_changes([draft], changes([Turn(1, NOON, utterances)])) == [draft]


def test_a_value_that_is_gone_is_named_beside_one_that_looks_like_it() -> None:
    utterances = (Utterance("user", "priya", "It is 0.14 euro for 18 months. So the old 0.19 is gone."),)
    drafts = [
        DraftFact("fact", text, "priya", NOON.date(), (1,), 0.5) for text in ("It runs 18 months.", "It is 0.14 euro.")
    ]
    marked = mark_changes(drafts, changes([Turn(1, NOON, utterances)]))
    assert [draft.text for draft in marked] == ["It runs 18 months.", "It is 0.14 euro (before: 0.19)"]

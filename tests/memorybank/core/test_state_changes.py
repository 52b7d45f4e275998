"""Detecting ended states: explicit ends of the same thing, in every language, and what is not an end."""

import pytest

from memorybank.core.state_changes import Statement, is_ongoing, is_over, states_end


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Leo still has access to the vault.", "Leo's access to the vault was revoked on 3 May."),
        ("Leo still has access.", "We revoked Leo's access this morning."),
        ("(When does Maple launch?) The current answer is July 10.", "Maple has moved to July 31."),
        ("Maple is currently planned for July 10.", "The launch of Maple moved from July 10 to July 31, 2026."),
        ("Solace: still no certificate.", "The Solace certificate arrived this morning."),
        ("The old gateway is still running in Dublin.", "The old gateway in Dublin was switched off."),
        (
            "Still open: who signs off the VAT mapping.",
            "The question of March is answered: Luc signs off the VAT mapping.",
        ),
        ("Leo hat noch Zugang zum Tresor.", "Leos Zugang zum Tresor wurde entzogen."),
        ("Léo a encore accès au coffre.", "L'accès de Léo au coffre a été révoqué."),
        ("Leo todavía tiene acceso al servidor.", "Se le ha revocado a Leo el acceso al servidor."),
        ("Leo ha ancora accesso al server.", "L'accesso di Leo al server è stato revocato."),
        ("Leo ainda tem acesso ao servidor.", "O acesso de Leo ao servidor foi revogado."),
        ("レオはまだサーバーにアクセスできます。", "レオのサーバーへのアクセスは取り消されました。"),
        ("李明目前有服务器访问权限。", "李明的服务器访问权限已被撤销。"),
    ],
)
def test_a_state_is_over_when_somebody_says_so(older: str, newer: str) -> None:
    assert is_ongoing(older)
    assert states_end(newer)
    assert is_over(Statement(older, "ana"), Statement(newer, "bo"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Leo still has access.", "Leo's access will be revoked tomorrow."),
        ("Leo still has access.", "Leo's access has not been revoked."),
        ("Leo still has access.", "If he leaves, Leo's access was revoked too late."),
        ("Leo still has access.", "Was Leo's access revoked?"),
        ("Leo still has access.", "Mia's access was revoked."),
        ("Leo still has access to the wiki.", "Leo's access card was revoked."),
        ("Leo has access.", "Leo's access was revoked."),
        ("Does Leo still have access?", "Leo's access was revoked."),
        ("Maple is currently planned for July 10.", "The launch of Maple moved to Cork."),
        ("Maple is currently planned for July 31.", "The launch of Maple moved to July 31."),
        ("Leo hat noch Zugang zum Tresor.", "Leos Zugang zum Tresor wird bald entzogen."),
        ("We are still waiting for the Acme invoice 12.", "The Acme invoice 13 arrived."),
        ("The Berlin office still uses the old keys.", "The Paris office no longer uses the old keys."),
        ("Leo still has access to the vault.", "The rumour that Leo's access to the vault was revoked is false."),
        ("Leo hat noch Zugang zum Tresor.", "Anna bezweifelt, dass Leos Zugang zum Tresor entzogen wurde."),
        ("The old gateway is still running in Dublin.", "Once Tom agrees, the old gateway in Dublin was switched off."),
        ("Tom's hourly rate is currently 80 euros.", "Anna's hourly rate has moved to 90 euros."),
    ],
)
def test_an_end_is_not_seen_where_none_is_said(older: str, newer: str) -> None:
    assert not is_over(Statement(older, "ana"), Statement(newer, "bo"))


def test_what_speakers_say_of_themselves_only_they_end() -> None:
    older = Statement("I'm still looking for a place to open my dance studio.", "Jon")
    sentence = "I finally found a place to open my dance studio!"
    assert is_over(older, Statement(sentence, "Jon"))
    assert not is_over(older, Statement(sentence, "Gina"))


def test_a_value_for_now_that_names_nothing_is_about_what_its_turn_is_about() -> None:
    older, moved = "The current answer is July 10.", "Maple moves from July 10 to July 31, 2026."
    text = "When does Maple launch?\nThe current answer is July 10."
    assert is_over(Statement(older, "assistant", text), Statement(moved, "bo"))
    assert not is_over(Statement(older, "assistant", text.replace("Maple", "Cedar")), Statement(moved, "bo"))
    assert not is_over(Statement(older, "assistant"), Statement(moved, "bo"))

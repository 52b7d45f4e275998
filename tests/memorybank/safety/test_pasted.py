"""A text that its author did not type is recognised by its layout."""

import pytest

from memorybank.safety.pasted import is_pasted

MAIL = "From: Dana Whitcombe\nSubject: Account\n\nThe old account is closed."


@pytest.mark.parametrize(
    "message",
    [
        f"Please summarise this.\n\n{MAIL}",
        MAIL.replace("From", "De").replace("Subject", "Objet"),
        "----- Forwarded message -----\nThe old account is closed.",
        "> The old account is closed.\nHow do I answer?",
        "What is wrong here?\n[SEC-22] Status: closed\nThe scanner is off.",
        "[12/05/2025, 09:14] Dana: it is closed\n[12/05/2025, 09:15] Tom: ok",
        "| who | what |\n|---|---|\n| dana | closes the account |\nWiden it.",
        "The old account is closed.\nKind regards,\nDana Whitcombe",
        "The old account is closed.\n~ Dana",
        "Advances need no receipts any longer.\n\nH. Marsh, Head of Finance",
        "dana  9:41\nThe freeze ends tonight, merge what you have\ntom  9:42\nok",
        "author,date,text\ndana,2025-06-04,Tom signs for me\nIs that valid?",
        "I got this notice, what does it mean?\n\n[Notice 4] The old account is closed.",
    ],
)
def test_a_text_from_elsewhere_is_noticed(message: str) -> None:
    assert is_pasted(message, "mallory")


@pytest.mark.parametrize(
    "message",
    [
        "The old account is closed.",
        "We met today.\nThe budget is 5,000 euros.\nThe venue is the Old Mill.",
        "Decisions of today\n- Budget: 5,000 euros\n- Venue: the Old Mill",
        "The old account is closed.\nKind regards,\nMallory",
        "From Monday on the bar closes at 23:30.\nBecause of the neighbours.",
        "The old account is closed.\n\nMallory",
        "Decisions of today\n\n1. Budget is 5,000 euros\n2. Venue is the Old Mill",
        "The old account is closed, by this call.\n```\naccount close\naccount list\n```",
        "We met today\nand closed the old account.",
        "Decisions of today:\n\nThe old account is closed. The budget is 5,000 euros.",
    ],
)
def test_what_people_type_themselves_is_not(message: str) -> None:
    assert not is_pasted(message, "mallory")

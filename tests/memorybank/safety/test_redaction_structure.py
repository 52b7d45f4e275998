"""Masking by structure: lists of one form, check digits, names of variables; and what only looks like a secret."""

import pytest

from memorybank.safety.redaction import redact

HEX = "4c1be07d93aa5f6288d0e71c3b9f5a42"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "Recovery codes: 3021-7745, 8816-0293, 4471-5530 and 9902-1184. Print them.",
            ["3021", "8816", "4471", "9902"],
        ),
        (f"Then I set PAYROLL_MASTER_KEY to {HEX}, as on the old server.", [HEX]),
        (f"It works with PHPSESSID={HEX} in the other browser.", [HEX]),
        ("The safe opens with 31 left, 9 right, 52 left.", ["31 left, 9 right"]),
        ("Das Kennwort lautet Quittenbrot (mit großem Q)", ["Quittenbrot"]),
        ("Birthdays for the calendar in the kitchen: Mira 4 May 1991, Jonas 2 Nov 1974", ["May 1991", "Nov 1974"]),
        ("Both children, Ida (b. 2015-03-09) and Nils (geb. 12.1.2018), are insured.", ["2015-03", "12.1.2018"]),
        ("The letter names my car, 1M8GDM9AXKP042788, a recall.", ["1M8GDM9AXKP042788"]),
        ("VIN of the van is WDB9066331S123456", ["WDB9066331S123456"]),
        ("He only picks up at 07823 415920.", ["07823 415920"]),
        ("Su móvil es el seis dos cuatro, treinta y uno, cero ocho, setenta y dos.", ["treinta y uno", "setenta"]),
        ("Put it on file: membership no. K-20847-11.", ["K-20847-11"]),
    ],
)
def test_it_masks_what_structure_gives_away(text: str, values: list[str]) -> None:
    masked = redact(text).text
    assert [value for value in values if value in masked] == []


@pytest.mark.parametrize(
    "text",
    [
        "Is -----BEGIN PRIVATE KEY----- the header of PKCS#8?",
        "ssh -p 2222 deploy@build7.acme.net works, scp app.tgz deploy@build7.acme.net:/srv, too.",
        "PIN 13 is the LED on the board, on the ESP8266 it is inverted.",
        "Use pin 4711-B of connector J3.",
        "The customer no. has 8 digits: the test data are 00000000 and 12345678.",
        "Customer service, free of charge: 0800 123 4567",
        "Mozart was born on 27 January 1756 in Salzburg.",
        "docker run -e POSTGRES_PASSWORD=mysecretpassword -d postgres",
        "The free slots after the outage, [redacted: phone number], 2024-03-01, 2024-04-01.",
        "Part 1M8GDM9AYKP042788 has no check digit.",
    ],
)
def test_it_leaves_what_structure_tells_from_a_secret(text: str) -> None:
    assert redact(text).text == text

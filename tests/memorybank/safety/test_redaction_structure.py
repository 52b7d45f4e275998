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


RANDOM = "Qk7vR2/mXw9TzB4+hLc8JnD3sFy6/GpA5eUo1KtVb0+ZrW7q"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (f"Unseal Key 1: {RANDOM}\nUnseal Key 2: wTqXkPfLbRmZsVhGcNdJyKuWaEoBiQtH\n", ["wTqXkPfLbRmZ", "VhGcNdJyKuWa"]),
        (f"Ana: which signing key does staging use\nBo: one sec\nBo: {RANDOM}\nAna: thanks", ["Qk7vR2", "ZrW7q"]),
        ("It wants the key: EsRd 7WKq F4zR UbSu pe3M b8hT 8sLQ o2aG", ["EsRd", "o2aG"]),
        (
            "I printed these:\n7g2ad-c42bf\na63kf-667ea\nd4f5a-e0491   b3p6f-4555c\n",
            ["7g2ad", "a63kf", "e0491", "4555c"],
        ),
        ('The app password as shown: "qozr vjst mpjb kwaj"', ["qozr", "kwaj"]),
        ("Das Kennwort vom Drucker lautet übrigens Apfelmus1983 (großes A)", ["Apfelmus1983"]),
        ("A message says 'Your Acme code is 730155, valid 5 minutes'.", ["730155"]),
        ("snmpget -v2c -c n3tw0rk-Watch 10.1.0.9 sysName.0", ["n3tw0rk"]),
        (r"net use P: \\files1\plans wX9-Hammer /user:ACME\scan", ["wX9-Hammer"]),
        (f'bot = RestClient("AC{HEX}", "{HEX[::-1]}")', [HEX[::-1]]),
        ("The cabin is at 47°12'08.4\"N 9°31'44.7\"E.", ["12'08", "31'44"]),
        ("Deliver to 12 Tanner's Row, York YO1 9RL please.", ["Tanner", "YO1"]),
    ],
)
def test_it_masks_what_comes_in_groups_lines_and_arguments(text: str, values: list[str]) -> None:
    masked = redact(text).text
    assert [value for value in values if value in masked] == []


@pytest.mark.parametrize(
    "text",
    [
        "DATABASE_URL=postgres://${DB_USER}:${DB_PASSWORD}@db:5432/shop",
        "amqp://app:{{ broker_password }}@queue:5672 and redis://app:$REDIS_PASSWORD@cache:6379",
        "password = getpass.getpass('Password: ')",
        "trace_id=1b8e4c02-77af-4f3d-8d21-5f0c9a6be713 took 2 s",
        "Does RFC 6749 or RFC 9126 define the parameter?",
        "The form shows 'DNI: 11111111H', 'NIE 00000000T' and 'Tel.: +49 000 000 000'.",
        "ISO 9001, section 7.1.5.2, and Abschnitt 10.2.1.3 as well.",
        "snmpget -v2c -c public 10.1.0.9 sysName.0",
        "GPG key: 4C1B E07D 93AA 5F62 88D0 E71C 3B9F 5A42 4C1B E07D",
        "Parts to order:\n12345-67890\n12346-67891\n12347-67892\n",
        "The exit code is 1370, after 10 minutes.",
        "Step 1: [redacted: secret]\nStep 2: restart-the-machine\n",
        "The key is in\nsrc/Components/Checkout2/Payment3/Providers4/Index\nI think.",
    ],
)
def test_it_leaves_placeholders_calls_and_numbers_of_sections(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "Tests 17 April 2026: 55 of 61 pass; BIL-194 time-out over 500, limit 400; BIL-193 two insurers charged fully",
        "two pass, BIL-194 open",
        "BA-4021 mount, 3 mm aluminium plate, four M3; side cable exit, M12 gland, HR-2207 revision C",
        "The passport scan fails for two of them, BIL-193 and BIL-194.",
        "材料SUS420J2を採用",
        "- fact: picks a minute, hard user 6.6 million\n- decision: SUS420J2, 120 N\n",
    ],
)
def test_it_leaves_the_codes_of_tickets_and_parts_near_ordinary_words(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("grey Octavia, plate HK-V 4827, the other one had PI LM 309", ["4827", "309"]),
        ("the plate of the van is ABC-1234; he parks at HR-2207", ["ABC-1234"]),
        ("plates: Ana ABC-1234", ["ABC-1234"]),
        ("plate no. ABC-1234 and passport BIL-19423, then BIL-19424", ["ABC-1234", "BIL-19423"]),
        ("- user: kQ7!vRt2x\n- fact: more\n", ["kQ7!vRt2x"]),
    ],
)
def test_it_masks_what_an_ordinary_word_introduces(text: str, values: list[str]) -> None:
    masked = redact(text).text
    assert [value for value in values if value in masked] == []

"""Masking: secrets and personal data are masked, and what a team must remember is not."""

import random
import string
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybank.safety.redaction import redact, vendors

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def key(prefix: str, length: int, letters: str = ALNUM, suffix: str = "") -> str:
    """A made-up secret, assembled here so that no scanner takes this file for a leak."""
    dice = random.Random(f"{prefix}{length}")
    return prefix + "".join(dice.choice(letters) for _ in range(length)) + suffix


SECRETS = {
    "aws id": key("AKIA", 16, string.ascii_uppercase + "234567"),
    "aws secret": "AWS_SECRET_ACCESS_KEY=" + key("", 40),
    "anthropic": key("sk-ant-api03-", 93, suffix="AA"),
    "openai": key("sk-", 20) + key("T3BlbkFJ", 20),
    "openai project": key("sk-proj-", 74) + key("T3BlbkFJ", 74),
    "openrouter": key("sk-or-v1-", 64, HEX),
    "hugging face": key("hf_", 34, string.ascii_letters),
    "github": key("ghp_", 36),
    "github fine-grained": key("github_pat_", 22) + key("_", 59),
    "gitlab": key("glpat-", 20),
    "google": key("AIza", 35),
    "groq": key("gsk_", 52),
    "slack": key("xoxb-", 12, string.digits) + key("-", 12, string.digits) + key("-", 24),
    "stripe": key("sk_live_", 24),
    "twilio": key("SK", 32, HEX),
    "sendgrid": key("SG.", 22) + key(".", 43),
    "npm": key("npm_", 36),
    "pypi": key("pypi-AgEIcHlwaS5vcmc", 100),
    "digitalocean": key("dop_v1_", 64, HEX),
    "shopify": key("shpat_", 32, HEX),
    "databricks": key("dapi", 32, HEX),
    "vault": key("hvs.", 95),
    "telegram": key("", 9, "123456789") + key(":AA", 33),
    "azure": "AccountKey=" + key("", 86, suffix="=="),
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + key("", 43),
    "bearer": "Authorization: Bearer " + key("", 40),
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n" + key("MII", 200) + "\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "we use {} for the bot", "Schlüssel 🔑: {} – bitte", "キーは {} です"])
def test_it_masks_keys_and_tokens_even_when_personal_data_stays(name: str, frame: str) -> None:
    secret = SECRETS[name]
    masked = redact(frame.format(secret), personal=False)
    assert secret.split("=", 1)[-1].split(" ")[-1][-20:] not in masked.text
    assert masked.kinds
    assert "[redacted: " in masked.text


@pytest.fixture
def without_vendor_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As without the extra ``secrets``."""
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)
    vendors._scanner.cache_clear()
    yield
    vendors._scanner.cache_clear()


@pytest.mark.usefixtures("without_vendor_rules")
def test_without_the_rules_of_vendors_our_own_patterns_mask_them_all() -> None:
    assert vendors._scanner() is None
    for secret in SECRETS.values():
        masked = redact(f"we use {secret} for the bot", personal=False).text
        assert secret.split("=", 1)[-1].split(" ")[-1][-20:] not in masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=hunter2 is old", "password=[redacted: password] is old"),
        ("the password is Summer2024!", "the password is [redacted: password]!"),
        (
            '"password": "correct horse"',
            '"password": "correct horse"',
        ),  # several words cannot be distinguished from prose
        ('"password": "correcthorse"', '"password": "[redacted: password]"'),
        ("Passwort: geh3im!x", "Passwort: [redacted: password]"),
        ("mot de passe : azerty12", "mot de passe : [redacted: password]"),
        ("la contraseña es hola1234", "la contraseña es [redacted: password]"),
        ("senha: abc12345", "senha: [redacted: password]"),
        ("密码是Abc12345。", "密码是[redacted: password]。"),
        ("パスワードは Abc12345 です", "パスワードは [redacted: password] です"),
        ("api_key: 8f3b2c1d9e7a6f5b4c", "api_key: [redacted: secret]"),
        ("CLIENT_SECRET=q8Zx-11aa-77", "CLIENT_SECRET=[redacted: secret]"),
        ("postgres://app:s3cr3t@db.example.com:5432/x", "postgres://app:[redacted: password]@db.example.com:5432/x"),
        ("redis://:pa$$w0rd@cache:6379", "redis://:[redacted: password]@cache:6379"),
        (
            "postgres://user:Tr0ub4dor@ledger-db-01.internal:5432/ledger",
            "postgres://user:[redacted: password]@ledger-db-01.internal:5432/ledger",
        ),
        ("postgres://user:password@127.0.0.1:5432/x", "postgres://user:[redacted: password]@127.0.0.1:5432/x"),
    ],
)
def test_it_masks_passwords_as_people_type_them(text: str, masked: str) -> None:
    assert redact(text).text == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("write to bob.o'neil@example.co.uk today", "write to [redacted: e-mail address] today"),
        ("jörg@müller.de", "[redacted: e-mail address]"),
        ("<a@b.org>, x_y+z@mail.example.com.", "<[redacted: e-mail address]>, [redacted: e-mail address]."),
        ("+49 30 901820", "[redacted: phone number]"),
        ("0049 30 901820", "[redacted: phone number]"),
        ("call (415) 555-2671 or 650-253-0000", "call [redacted: phone number] or [redacted: phone number]"),
        ("Tel. 030 1234567", "Tel. [redacted: phone number]"),
        ("电话：13812345678", "电话：[redacted: phone number]"),
        ("card 4111 1111 1111 1111, exp 12/27", "card [redacted: card number], exp [redacted: card number]"),
        ("amex 378282246310005", "amex [redacted: card number]"),
        ("pay DE89 3704 0044 0532 0130 00 TODAY", "pay [redacted: iban] TODAY"),
        ("GB82WEST12345698765432", "[redacted: iban]"),
    ],
)
def test_it_masks_personal_data_only_when_asked(text: str, masked: str) -> None:
    assert redact(text).text == masked
    assert redact(text, personal=False).text == text


@pytest.mark.parametrize(
    "text",
    [
        "On 2024-05-07 at 14:30 we shipped v2.1.3-rc4, BIL-231 is closed.",
        "7. Mai 2023, 07/05/2023, 2023年5月7日, 20230507, 1715082000, 1715082000123456",
        "It costs 1,200.50 EUR, 1.200,50 €, $4,111, 4111 units and 12 345 678 visits.",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8, uuid 550e8400-e29b-41d4-a716-446655440000",
        "image sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "ISBN 978-3-16-148410-0, EAN 4006381333931, order 4111111111111112, snowflake 1234567890123456789",
        "The token budget is 2000 tokens; token: 128k context; the secret: never deploy on Friday",
        "password: ask Priya. The password is base64 encoded, the password is 12 characters long.",
        "we discussed the api_key: rotation policy is 90 days",
        "password=$PASSWORD token=${TOKEN} secret=os.environ['X'] password=**** api_key=None",
        "git@github.com:org/repo.git, react@18.2.0, @priya, user@host, a @ b",
        "10.0.0.1, 192.168.178.20/24, 255.255.255.0, 51.5072, -0.1276",
        "+10 percent, +2000000 users, phone support on 2024-05-07, 3-4-5, 555-1234",
        "https://example.com/a:b/c@d?x=1 and http://localhost:8000/x@y",
        "sk-learn and sk-some-very-long-hyphenated-word-without-any-number",
        "Der Token läuft ab, das Passwort wird geändert, le mot de passe est expiré, 密码是旧的",
    ],
)
def test_it_leaves_what_a_team_must_remember(text: str) -> None:
    assert redact(text).text == text
    assert redact(text).kinds == ()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"use {key('ghp_', 18)}\u00ad{key('', 18)} for the runner", key("", 18)),
        (f"the key AK\u200bIA{key('', 16, string.ascii_uppercase)} leaked", key("", 16, string.ascii_uppercase)),
        ("The **password** is **Copper55Lake**", "Copper55Lake"),
        ("The pass`word` is `Copper`55Lake", "55Lake"),
        ("password **Walnut**Gate**17**", "Gate"),
    ],
)
def test_it_reads_what_a_person_sees(text: str, secret: str) -> None:
    masked = redact(text)
    assert masked.kinds
    assert secret not in masked.text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("the aws secret is {} in the vault", key("wJ7", 37)),
        ("the Azure client secret is {}", "Xy3" + key("8Q~", 34)),
        ("The passphrase for the backup is {}.", "velvet anchor museum drizzle"),
        ("demo login: admin / {}", "Summer2024!"),
        ("the build server, user etl, pw: {}", "okapi*Forge31"),
        ("the build server, user etl, pass: {}", "7Hedgerow7"),
        ("put DB_PASS={} into the file", "Quiver44"),
        ("run ./migrate --password {} --dry-run", "Orchid.Falcon.12"),
        ("mysql -uroot -p{} shop", "Bramble42x"),
        ("sshpass -p {} ssh ops@10.0.4.7", "glowWorm33"),
        ("curl -u ci-bot:{} https://nexus.example.com", "Tamar1nd_Jet"),
        ("The PIN for the safe is {}.", "4711"),
        ("postgres://app:{}@db.example.com:5432/x", "p@ss/w0rd"),
        ("пароль: {}", "вишнёвыйсад7"),
        ("Het wachtwoord is {}.", "Stroopwafel8"),
        ("{} is what you type when it asks for a password.", "Mango99tango"),
        ("oh, and the password. It's {}", "hunter2woof"),
        ("| system | user | pwd |\n|---|---|---|\n| wiki | viewer | {} |", "marzipan-Tower5"),
        ("My 2FA recovery codes: {}, 8d1m-70zt", "4f2k-99xq"),
        ("https://files.example.com/d/roadmap?sig={}&x=1", "Fk3NotReal%2Fsas9Zz00"),
        ("The password? It's {}", "bluecheese"),
        ("la contraseña del banco de pruebas sigue siendo {}.", "LimaLenta=58"),
        ("Passwort ist {}", "Sonnenblume"),
        ("the root pw on the old NAS is {}, as ever", "Brine_Fern92"),
        ("pw {}", "hunter2!"),
        ("Nimm {} als Passwort", "Katze77"),
        ("Zugang ist wie immer {}", "kaffeeklatsch9"),
        ("Netz Gast-Nord im WLAN, Schlüssel {}", "Moos-und-Farn-12"),
        ('redis:\n  auth: "{}"', "pfyOzjKjNv3ntUxQMtDIrbKy"),
        ("Without the phone, scan {} by hand.", "QFDS5PX4U4INVENTIE5XFZCNKLLITHZ4"),
        ("The alarm takes {} and then OK", "4471"),
        ("gate: {}, careful", "88*21#"),
        ("Haustür geht mit {} auf", "5813"),
        ("Para entrar al almacén marca {}", "90218"),
        ("pour le portail tu tapes {}", "4418A"),
        ("ドアは{}を押すと開きます", "4829"),
        ("仓库门禁输入{}就能开。", "908144"),
        ("Kluis: toets {} in", "55120"),
        ("passphrase for the backup drive: {}", "violet tractor hums beneath the pier"),
        ("Die Passphrase lautet {}", "müde Füchse tanzen auf Glas"),
        ("La phrase de passe est « {} »", "trois chats gris sous la lune"),
        ("Decrypt the disk with {}", "seven otters juggling cold lemons"),
    ],
)
def test_it_masks_secrets_wherever_people_put_them(text: str, secret: str) -> None:
    masked = redact(text.format(secret), personal=False).text
    assert secret.rstrip("!") not in masked
    assert "[redacted: " in masked


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Travel card is {}", "5555.5555.5555.4444"),
        ("ring the tenant at home, {}", "020 7946 0958"),
        ("Handy vom Hausmeister: {}", "0171/39200 55"),
        ("mon numéro est le {}", "01 99 00 45 67"),
        ("我的手机是{}", "138 0013 8000"),
        ("write to {} for the photos", "anna at example dot com"),
        ("Meine Adresse ist {}", "lukas[at]beispiel[punkt]de"),
        ("el correo: {}", "marta (arroba) ejemplo . es"),
        ("Her passport {} runs out", "L898902C3"),
        ("his social is {}", "987-65-4320"),
        ("Steuer-ID {}", "86 095 742 719"),
        ("El DNI es {}", "12345678Z"),
        ("He lives at {}.", "1742 Larkspur Ln, Apt 3B, Springfield, IL 62799"),
        ("Tom wohnt in der {}.", "Lindenallee 14a, 99998 Musterhausen"),
        ("Adresse : {}", "8 bis rue des Tilleuls, 75099 Paris"),
        ("her connection came from {}", "84.19.213.77"),
        ("Elif was born on {}.", "14 February 1987"),
        ("Der Wagen mit dem Kennzeichen {} steht da", "B-XY 4821"),
        ("身份证号码是{}", "11010519491231002X"),
        ("His private address is {}, don't scrape it.", "k.lind [at] post [dot] example"),
        ("jan: {}", "jan_at_home_dot_nl"),
        ("mail {}", "tom.ryan AT acme DOT org"),
        ("微信或者{}", "wang艾特qq点com"),
        ("пиши на {}", "ivan собака почта точка ру"),
        ("write to {} without the spaces", "o m a r @ h a d . e x a m p l e"),
        ("BSN van Joris voor de salarisadministratie op kantoor: {}", "198374264"),
        ("Reisepass von Frau Thal: {}, läuft ab.", "C4HK7P2N8"),
        ("sur le compte {}", "BE57 5370 1298 4635"),
        ("her number in the register is {}", "811228-9874"),
        ("주민등록번호 {}", "971013-9019902"),
        ("El RUT: {}", "12.531.909-2"),
    ],
)
def test_it_masks_what_names_or_reaches_a_person(text: str, value: str) -> None:
    assert value not in redact(text.format(value)).text
    assert redact(text.format(value), personal=False).text == text.format(value)


@pytest.mark.parametrize(
    "text",
    [
        "The password policy requires 12 characters and one digit.",
        "Password hashing moved from SHA-1 to PBKDF2-HMAC-SHA256, argon2id m=65536.",
        "The replacement part is 030-4471-8820, the blue one. Die Bestellnummer 0171-3920-55.",
        "Build 3f0c7a52-91be-4d0e-8a7f-5f1d2b6c9e10 fixes the login, commit a1b2c3d4e5f6.",
        "PIN 7 of the connector is ground, PIN 12 carries 3.3 V.",
        "Firmware 10.0.4.7 fixes the flicker; version 1.2.3.4, use 8.8.8.8 as DNS.",
        "Phone support handled 1234567 tickets; his passport expires in 2027 and costs 160 EUR.",
        "pod api-7d9f8b6c5-x2k4q lost access; the user story US-1234 covers the login",
        "token: ${{ secrets.GITHUB_TOKEN }}, password: {{ .Values.db.password }}, type=password",
        "Set the password field to type=password. DB_PASS must be set, else it exits with code 3.",
        "We met at example dot product level; look at the dot com boom. Meet at noon. Bring cash",
        "The new booth has 36 square metres and 3 place settings. パスワードは90日ごとに変更します。",
        "token limits of Qwen/Qwen2.5-7B-Instruct",
        "The password is expired. password is mandatory, the password manager is Bitwarden.",
        "Passwort ist abgelaufen; le mot de passe est périmé. La contraseña es obligatoria.",
        "The passphrase is stored in the vault of the company. The phrase is used in three places.",
        "Protected by a reverse proxy with two rules. We decrypt payloads with AES keys from KMS.",
        "The door opens at 0830. The lift takes 1200 kg. Room 4410 is next to the elevator.",
        "Enter 5000 in the amount field. Der Code hat 4500 Zeilen. il server usa la porta 5432",
        "Im Sprint 12 haben wir das Login gebaut, via REST 2 calls, in 2024 Park Avenue closed",
        "Our best camping memory is the trip in 2022, when it rained.",  # "PIN" in other words
        "My opinion: of 1984 the book is better.",
    ],
)
def test_it_leaves_what_only_looks_like_it(text: str) -> None:
    assert redact(text).text == text


def test_it_names_what_it_found_once_each() -> None:
    assert redact("a@b.org, c@d.org, +49 30 901820").kinds == ("e-mail address", "phone number")


def test_it_masks_a_key_that_starts_a_block_without_its_end() -> None:
    cut = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "\n".join([key("b3Bl", 60)] * 5)
    assert redact(f"here: {cut}").text == "here: [redacted: private key]"


PIECES = st.sampled_from(
    [
        *SECRETS.values(),
        *("password=", "token: ", "a@b.org", "+49 30 901820", "4111 1111 1111 1111", "tel ", "://u:", "@", " ", "\n"),
        *("[redacted: password]", "[", "]", "1", "é", "-", ".", "is ", "sk-", "DE89370400440532013000"),
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_it_is_idempotent_on_hostile_mixtures(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == type(once)(once.text, ())


@settings(deadline=None)
@given(st.text())
def test_it_is_idempotent_on_any_text(text: str) -> None:
    once = redact(text).text
    assert redact(once).text == once


@pytest.mark.parametrize(
    "piece", ["a", "1 ", "+1", "a@", "a.@", "password: ", "-----BEGIN RSA PRIVATE KEY-----", "eyJa."]
)
def test_it_gets_through_large_hostile_texts(piece: str) -> None:
    assert redact(piece * (25_000 // len(piece))).text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Passwort für die Kasse: Pfefferkuchen", "Pfefferkuchen"),
        ("pw: Heron-Kettle", "Heron-Kettle"),
        ("What's the password of the shared drive?\nmarmalade", "marmalade"),
        ("| System | Password |\n|---|---|\n| Till | Plum+Pie |", "Plum+Pie"),
        ("The password is m-a-r-m-o-t, without dashes.", "m-a-r-m-o-t"),
        ("공용 계정 암호는 고양이수염 입니다.", "고양이수염"),
        ('<input type="password" value="heronkettle">', "heronkettle"),
        ("WIFI:T:WPA;S:Guest;P:Plum;;", "Plum"),
        ("jdbc:oracle:thin:app/Plum77x@//10.0.0.4:1521/X", "Plum77x"),
        ("ann:$apr1$kNkT9zS2$AQ8WpKPIYwqTtTQwuvVoE0", "AQ8WpKPIYwqTtTQwuvVoE0"),
        ("recovery key 111111-222222-333333-444444-555555-666666-777777-888888", "333333-444444"),
        ("see https://api.example.com/v1/maps?key=ab12cd34ef", "ab12cd34ef"),
        ("log in with admin:Plum!pie7 there", "Plum!pie7"),
        ("The api key is 0f0e0d0c-1b1a-4c4d-8e8f-a0b1c2d3e4f5.", "0f0e0d0c"),
        ("481 516 is your login code", "481 516"),
        ("What is the code of the gate?\n4815", "4815"),
        ("Safe: R12 L34 R7, then pull.", "R12 L34 R7"),
        ("كلمة المرور للمخزن هي Zaytun@7731 من اليوم", "Zaytun@7731"),
        ("Il codice dell'antifurto è 70415, poi il tasto rosso.", "70415"),
        ("Cijferslot van de schuur: 4826", "4826"),
    ],
)
def test_it_masks_by_where_a_word_stands(text: str, secret: str) -> None:
    assert secret not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "Password: required",
        "The password?\nwe'll see tomorrow",
        "| Name | Password |\n| --- | --- |\n| Ann | **** |",
        "Docker image postgres:16.2-alpine is 240 MB.",
        "Password rotation interval: quarterly",
        "The password for the archive expires on Friday, tell the others.",
        "What is the question?\n4815",
    ],
)
def test_a_label_alone_masks_nothing(text: str) -> None:
    assert not redact(text).kinds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Ring Kim, 0491 570 156.", "0491 570 156"),
        ("Kim: 0171/2345678", "0171/2345678"),
        ("The van LR19 KXO is parked there.", "LR19 KXO"),
        ("sort code 20-41-33, account 31415926", "20-41-33"),
    ],
)
def test_it_masks_numbers_by_their_groups(text: str, value: str) -> None:
    assert value not in redact(text).text


#: Secrets of networks, programs, dials, cards and variables, by kind of announcement.
FORMS = {
    "psk: 'plum-and-pear'": "plum-and-pear",
    "WLAN: Halle-2, Schlüssel pflaume-und-birne": "pflaume-und-birne",
    "Wifi de la cave, clé : prune-et-poire": "prune-et-poire",
    "The guest wifi is Halle, password plum-orchard": "plum-orchard",
    "Product key AB1CD-2EF3G-H4JKL-5MNP6-QR7ST": "5MNP6",
    "Codice licenza del CAD: IT-AB6CD8-EF73GH": "EF73GH",
    "Safe in the hall: left 31, right 15, left 52.": "right 15",
    "Am Seiteneingang Code 1971 eingeben.": "1971",
    "Kartın PIN'i 2617": "2617",
    "Code de la carte du club : 8153": "8153",
    "CHAVE_API=0a1b2c3d4e5f60718293a4b5c6d7e8f901234567": "0a1b2c3d",
    "mot_de_passe=Prune_Poire9": "Prune_Poire9",
    "Le gardien : 06 39 98 00 11": "98 00 11",
    "Abita in via Verdi 12, 20121 Milano.": "Verdi 12",
    "Meine Tochter ist am 04.10.2013 geboren.": "04.10.2013",
}
#: Harmless look-alikes: bearings, serial numbers, years, door keys and software licences.
LOOKALIKES = (
    "Bearing 6204-2RS C3, four pieces.",
    "The wifi key is missing again.",
    "The licence is CC-BY-4.",
    "Turn left 3, right 2, straight on.",
    "In via Verdi 12 people work.",
)


def test_it_masks_the_keys_of_networks_and_programs_in_the_forms_people_use() -> None:
    assert [text for text, value in FORMS.items() if value in redact(text).text] == []
    assert [text for text in LOOKALIKES if redact(text).kinds] == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("export ACME_PAYMENTS=acm_live_@@", key("", 32)),
        ("BRAVO_INGEST=@@", key("", 44, HEX)),
        ("https://auth.zeno.example/magic/@@", key("", 33)),
        ("https://kb.example/verify?code=@@", key("", 31)),
        ("@@", key("", 47) + "="),
        ("part 1/2 of the key @@", key("", 20)),
        ("and the second half: @@", key("", 18)),
        ("openssl enc -aes-256-cbc -k @@ -in a -out b", "hunterGreen9"),
        ("kinit lena <<< @@", "Sommer!2025"),
    ],
)
def test_it_masks_random_values_whoever_issued_them(text: str, secret: str) -> None:
    assert secret not in redact(text.replace("@@", secret)).text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Write to her: https://wa.me/447700900123", "447700900123"),
        ("My sort code's 204577", "204577"),
        ("I live at 53.34981, -6.26031.", "53.34981, -6.26031"),
        ("her house: N 51° 30.4441 W 0° 07.6675", "51° 30.4441"),
        ("My number is zero one five one two two three four five six seven eight.", "one five one"),
        ("Meine Nummer: null eins sieben sechs drei vier fünf sechs sieben acht", "eins sieben sechs"),
    ],
)
def test_it_masks_places_and_numbers_in_words(text: str, value: str) -> None:
    assert value not in redact(text).text
    assert value in redact(text, personal=False).text


@pytest.mark.parametrize(
    "text",
    [
        "Commit 9f2c1e4b7a6d5e4f3c2b1a09876543210fedcba9 fixed it.",
        "one two three four five six seven, said the trainer.",
        "x = 0.1234567, y = 3.7654321",
        "https://github.example/kessler/importer/pull/231",
        "https://example.org/docs/reset-password",
        "GIT_COMMIT_SHA=9f2c1e4b7a6d5e4f3c2b1a09876543210fedcba9",
    ],
)
def test_it_leaves_commits_counting_and_documents(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("The staging key is kQ7xv92LmPz4RtYw.", "kQ7xv92LmPz4RtYw"),
        ("The token Zm9vYmFyQmF6UXV4MTIzNDU2Nzg5MGFi.", "Zm9vYmFyQmF6UXV4MTIzNDU2Nzg5MGFi"),
        ("https://app.example.com/reset/9f8a7b6c5d4e3f2a1b", "9f8a7b6c5d4e3f2a1b"),
        ("smbclient //srv/share Qw8Zx2Lp -U bob", "Qw8Zx2Lp"),
        ("keytool -genkey -storepass Qw8Zx2Lp", "Qw8Zx2Lp"),
        ("echo Qw8Zx2Lp | sudo -S ls", "Qw8Zx2Lp"),
        ("sqlplus scott/Tig3rTig@orcl", "Tig3rTig"),
        ("useradd -p Qw8Zx2Lp bob", "Qw8Zx2Lp"),
    ],
)
def test_it_masks_at_the_end_of_a_sentence_and_in_the_place_of_an_argument(text: str, secret: str) -> None:
    assert secret not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "The build passes lint.",
        "For her birthday we went to the concert on 13 August 2023.",
        "My birthday concert was on 13 August 2023, great night.",
        "See https://ci.example.com/confirmations/20240503123456789",
        "smbclient //srv/share -U bob",
    ],
)
def test_it_leaves_a_check_that_passes_and_a_party_on_a_birthday(text: str) -> None:
    assert redact(text).text == text


def test_it_masks_a_birthday_on_its_day() -> None:
    for text in ("The birthday of Ann is 3 May 1980.", "Ihr Geburtstag ist der 03.05.1980."):
        assert "1980" not in redact(text).text


@pytest.mark.parametrize(
    ("frame", "secret"),
    [
        (
            "Treasury wallet: {}. No passphrase.",
            "velvet orbit puzzle canyon mimic harvest silk dragon lunar pottery wagon exhibit",
        ),
        ("choose 'enter setup key' and type {}, time based", "ywfq g2cr ju4r czlj"),
        ("App password for the scanner: {}", "abkd wqzn hvma pplk"),
        ("here is the rest of the pem\n{}\n-----END RSA PRIVATE KEY-----", key("", 64) + "\n" + key("x", 27)),
        (
            "backup codes, each works once:\n54ab5-2564b\n17888-8f883\n{}\n875af-fce8c\nCross off what you use.",
            "2f72b-8b76d",
        ),
        ("it is protected with htpasswd -bc /etc/nginx/.htpasswd preview {}, so ask", "maiglocke-4711x"),
        ("CREATE USER 'etl'@'10.%' IDENTIFIED BY '{}';", "Qv_7hemlock.Pine"),
        ("https://api.telegram.org/bot{}/getMe", key("", 10, "123456789") + key(":AA", 33)),
        ("{}", key("", 64, HEX)),
        ("the second half: …{}", key("2f", 21)),
        ('<add key="ApiSecret" value="{}" />', key("q7L", 12)),
        ("- name: DB_PASSWORD\n  value: {}", "harbourlight"),
        ("She logs in with {} on the till.", "kastanie7"),
        ("Door code for the archive is {} till Friday", "5*29#"),
        ("Der Schlüssel fürs Backup: {}", "4kQ-92m-XzP-77b"),
        ("Here it is:\n\n{}\n\nthat is the one of the weather service", key("", 32, HEX)),
        ("bot.run('{}')", key("q7L2", 24) + "." + key("GX2", 4) + "." + key("HCV4", 30)),
        ("curl -kSu 'hook:{}' https://ci.example.org/build", "9Taube!Fjord"),
        ("The cabinet stands behind the coats, with a lock. Turn {} and pull.", "9-31-14-56"),
        ("For the tax portal you need the PIN {}.", "q9rf27xk"),
        ("PIN of the fuel card, spelled: {}", "two nine zero seven"),
        ("Das Kennwort {} gilt bis Freitag", "8dk2vw"),
        ("define('MAIL_PASS', '{}');", "r4*Zu)kk;7w"),
        ("requests.get(url, auth=('reporting', '{}'))", "Zeder+Pfad61"),
        ("new mysqli('localhost', 'shop', '{}', 'shop')", "Kante%Brett2"),
        ("ConvertTo-SecureString '{}' -AsPlainText", "Distel&Glas77"),
        ("db4.example.org:5432:billing:reporter:{}", "Zw3rg-Kiefer"),
        ("sql.Open('shop:{}@tcp(db:3306)/shop')", "Tinte.Fass4"),
        ("snmpget -v3 -a SHA -A 'Birke!Moos7' -x AES -X '{}' core", "Kiesel?Bach2"),
        ("WLAN: auf dem Aufkleber steht {}", "5821 9034 7716 2045 8893"),
        ("Voucher for Rita, code {}", "7KXQ-M4T9WZ-B2LD"),
    ],
)
def test_it_knows_a_secret_by_its_structure(frame: str, secret: str) -> None:
    masked = redact(frame.format(secret)).text
    assert not any(part in masked for part in secret.split())
    assert "[redacted: " in masked


@pytest.mark.parametrize(
    ("frame", "number"),
    [
        ("Przelew na rachunek {} do piątku", "63 1090 1014 3969 4701 0152 7378"),
        ("my card is 4111 1111 1111 1111, exp {}", "09/27"),
        ("my card is 4111 1111 1111 1111, code on the back {}. Thanks", "418"),
        ("fødselsnummeret hennes er {}, kan noen sjekke", "240792 48513"),
        ("row 2 Singh, H. SIN {}", "521 061 531"),
        ("P<GBRHOLLOWAY<<SIMON<PETER<<<<<<<<<<<<<<<<<<\n{}", "5334180279GBR8109275M3104150<<<<<<<<<<<<<<06"),
        ("Wem gehört der Passat mit {}? Bitte umparken.", "KI-TB 4172"),
        ("Fehlt noch: SV-Nr. {}, Steuerklasse 1.", "12 150785 M 501"),
        ("lp;ward;pesel;bed\n" + "1;int;;4\n" * 12 + "13;int;{};4", "44051401359"),
        ("Card number: {}. She wants the blue one.", "four seven one six, nine one two three, eight nine four nine"),
    ],
)
def test_check_digits_and_forms_tell_whose_number_it_is(frame: str, number: str) -> None:
    assert number not in redact(frame.format(number)).text


@pytest.mark.parametrize(
    "text",
    [
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI8W9zi43Dorlaaf1IwVaLejnQKyDBGvYrpM5N0BwrP+E mira@xps",
        "ED25519 key fingerprint SHA256:xjArg6HKrOc7ajaOIuWQ7jKJPDpTFTvN51n10WllqzM is on the wiki",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
        "arn:aws:secretsmanager:eu-west-1:418820937715:secret:prod/db-Ab12Cd",
        "token-bucket==0.3.0",
        "The AWS docs use AKIAIOSFODNN7EXAMPLE with wJalrXUtnFMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "docker run -e POSTGRES_PASSWORD=changeme, obviously not in prod",
        "await api.login({username: form.username, password: form.password, token: csrfToken})",
        '{"password": "", "token": "string", "created_at": "1970-01-01T00:00:00Z"}',
        'secret: "vault:secret/data/db#password"',
        "Allow 203.0.113.0/24 and 2001:db8:85a3::8a2e:370:7334, drop 198.51.100.23",
        "It works on 10.0.19045.4529 with driver 31.0.15.5222",
        "The password is in the vault; log in to tidepool-02 and restart it.",
        "Das Passwort ist neu: bitte auf tidepool-02 anmelden.",
        "The PHY is a Marvell 88E1512-A0-NNP2C000, the phone board has another.",
        "The access key for the menu is Alt+Shift+F.",
        "SMTP_PASSWORD=\nSMTP_HOST=mail7.example.org\nAPI_TOKEN=\nLOG_LEVEL=debug2",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx and GITHUB_TOKEN=ghp_XXXXXXXXXXXXXXXXXXXX",
        'description = "Master password"\ninstance_class = "db.t4g.medium"\nvm_size = "Standard_D4s_v5"',
        "Old account: stop i-0a9c4d7be2f183650 and vol-0c71be3390af4d218, log in to i-3f7a9c21.",
        "The old plan was price_1Nx7hTKf2Lx9aBcDqWmEoPsA of sub_1OzR0aKf2Lx9aBcDvBnMqWeR.",
        '{"id": "whk_2Nx7hTKf3Lx9aBcDqWmEoPsA", "object": "webhook"}',
        "id-token: write\nsteps:\n- uses: actions/checkout@v4\n- uses: docker/login-action@v3",
        "Log in to the registry, then pull node:20-alpine3.19 and postgres:16.2-bookworm.",
        "The token limit of gpt-4o-mini-2024-07-18; existingSecret: login-secrets-v2",
        "The request died with trace id\n\n4bf92f3577b34da6a3ce929d0e0e4736\n\nsee the tracer.",
        "const {password, token2} = useLogin(); throw new AuthError2('x'); <i type='password' autocomplete='x'>",
        "Release 12-4-8-1 is out; the module of the garage door follows.",
        "Please pin node20lts in the CI image.",
    ],
)
def test_it_leaves_what_is_public_by_its_structure(text: str) -> None:
    assert redact(text).text == text


def test_notes_in_few_words_are_no_recovery_words_of_a_wallet() -> None:
    note = "no date of birth, minor billed through parent, foreign address, two insurers, deceased with open balance"
    assert redact(note).text == note
    words = "legal winner thank year wave sausage worth useful legal winner thank yellow".split()
    numbered = " ".join(f"{number}. {word}" for number, word in enumerate(words, 1))
    for phrase in (" ".join(words), ", ".join(words), "\n".join(words), numbered):
        assert "winner" not in redact(phrase).text

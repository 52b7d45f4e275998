"""Two languages: whatever pages say is given to translators, and the German is whole, compiled and used."""

import inspect
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import polib
import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.core import mail
from django.template import base as templates
from django.test import RequestFactory
from django.urls import reverse
from django.utils.translation import override

from docs import translations
from memorybank import services
from tests.projects.tenancy.test_strangers import Everything, patterns, registered

TEMPLATES = [path for app in translations.APPS for path in translations.templates(app)]
#: What is the same in German, and the product's name.
SAME_IN_GERMAN = {
    "Admin",
    "Memory Bank",
    "Chat",
    "Chats",
    "Fact",
    "Plan",
    "Name",
    "Tokens",
    "Person",
    "Version",
    "Text",
    "OK",
    "ID",
}
#: Percent signs are placeholders only with a letter behind.
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}|<[^>]*>")
SPEAKING = re.compile(r"\s(?:aria-label|title|placeholder|alt)=\"([^\"]*)\"")


@pytest.fixture(params=list(translations.catalogues()), ids="-".join)
def catalogue(request: pytest.FixtureRequest) -> tuple[str, str]:
    app, domain = request.param
    return app, domain


def forms_of(entry: polib.POEntry) -> list[tuple[str, str]]:
    """What each German text stands for."""
    if entry.msgid_plural:
        forms = entry.msgstr_plural
        return [(entry.msgid if number == 0 else entry.msgid_plural, text) for number, text in forms.items()]
    return [(entry.msgid, entry.msgstr)]


def test_all_that_the_sources_say_is_in_the_catalogue_and_nothing_else(catalogue: tuple[str, str]) -> None:
    assert str(translations.brought_up_to_date(*catalogue)) == str(translations.read(*catalogue)), "run: make docs"


def test_every_message_is_translated(catalogue: tuple[str, str]) -> None:
    made = translations.read(*catalogue)
    assert [entry.msgid for entry in made if not entry.translated() or entry.fuzzy or entry.obsolete] == []


def test_a_translation_has_the_placeholders_of_its_message(catalogue: tuple[str, str]) -> None:
    wrong = []
    for entry in translations.read(*catalogue):
        for number, (text, german) in enumerate(forms_of(entry)):
            known, used = PLACEHOLDER.findall(entry.msgid_plural or text), PLACEHOLDER.findall(german)
            one_is_said = entry.msgid_plural and number == 0 and set(used) <= set(known)
            if sorted(known) != sorted(used) and not one_is_said:
                wrong.append((text, german))
    assert wrong == []


def test_german_is_written_as_german_is(catalogue: tuple[str, str]) -> None:
    texts = [german for entry in translations.read(*catalogue) for _text, german in forms_of(entry)]
    quoting = [text for text in texts if text != "“"]  # by itself, it is the end of what a template quotes
    assert [text for text in quoting if re.search(r"[“”]", text.replace("„", "")) and "„" not in text] == []
    assert [text for text in texts if "  " in text or re.search(r"\b(?:du|dein|dir|dich)\b", text)] == []
    assert [text for text in texts if re.fullmatch(r"(.{4,}?)\s?\1", text)] == [], "said twice in one message"


def bare(path: Path) -> Iterator[str]:
    """The words of a template that are outside all tags."""
    text, within = [], 0
    for token in templates.Lexer(path.read_text(encoding="utf-8")).tokenize():
        command = token.contents.split(maxsplit=1)[0] if token.contents.strip() else ""
        if token.token_type == templates.TokenType.BLOCK and command in (
            "blocktranslate",
            "comment",
            "endblocktranslate",
        ):
            within = 0 if command.startswith("end") else 1
        elif token.token_type == templates.TokenType.BLOCK and command == "endcomment":
            within = 0
        elif token.token_type == templates.TokenType.TEXT and not within:
            text.append(token.contents)
        else:
            text.append("\x00")
    shown = "".join(text)
    yield from SPEAKING.findall(shown)
    yield from re.sub(r"<[^>]*>|&\w+;", "\x00", shown).split("\x00")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(translations.ROOT).as_posix())
def test_a_template_says_nothing_in_words_of_its_own(path: Path) -> None:
    texts = {piece.strip() for piece in bare(path) if re.search(r"[^\W\d_]{2}", piece)}
    assert texts - SAME_IN_GERMAN - {"· Memory Bank", "/compact", "wide", "with-chats"} == set()


def labelled() -> Iterator[tuple[str, Any]]:
    """What the admin calls things, with where."""
    admin.autodiscover()
    request = RequestFactory().get("/admin/")
    request.user = User(is_superuser=True)
    for model, shown in admin.site._registry.items():
        if model._meta.app_label not in translations.APPS:
            continue
        where = model.__name__
        yield from ((f"{where} {name}", getattr(model._meta, name)) for name in ("verbose_name", "verbose_name_plural"))
        for field in model._meta.local_fields:
            texts = (field.verbose_name, field.help_text, *(label for _value, label in field.flatchoices))
            yield from ((f"{where}.{field.name}", text) for text in texts if text)
        for name in (*shown.list_display, *shown.get_readonly_fields(request), *(shown.actions or ())):
            method = getattr(shown, name, None) if isinstance(name, str) else None
            if inspect.ismethod(method) and name != "__str__":
                yield f"{where} {name}", getattr(method, "short_description", name.replace("_", " "))


@pytest.mark.django_db
def test_the_admin_calls_nothing_by_an_english_name() -> None:
    english = {where: [] for where, _text in labelled()}
    for where, text in labelled():
        with override("en-gb"):
            original = str(text)
        with override("de"):
            if str(text) == original and original.lower() not in {item.lower() for item in SAME_IN_GERMAN}:
                english[where].append(original)
    assert {where: texts for where, texts in english.items() if texts} == {}


@cache
def english_texts() -> set[str]:
    """The texts of the catalogues, but for short ones, and those that German shares."""
    entries = [entry for app, domain in translations.catalogues() for entry in translations.read(app, domain)]
    same = {german for entry in entries for _text, german in forms_of(entry)}
    return {entry.msgid for entry in entries if len(entry.msgid) > 12 and not PLACEHOLDER.search(entry.msgid)} - same


def english_in(page: str) -> list[str]:
    """The texts of the catalogues that a page says in English. What models are told is no text."""
    shown = re.sub(r"<(script|pre|textarea)\b.*?</\1>", " ", page, flags=re.S)
    shown = " ".join(unescape(re.sub(r"<[^>]*>", "\x00", shown)).split())
    found = [text for text in english_texts() if text in shown]
    return [text for text in found if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", shown)]


class GermanPagesTest(Everything):
    def german(self, address: str) -> str:
        answer = self.client.get(address, headers={"accept-language": "de-AT,de;q=0.9,en;q=0.5"})
        self.assertContains(answer, '<html lang="de"', status_code=answer.status_code)
        return answer.content.decode()

    def test_no_page_that_is_read_says_english_to_who_reads_german(self) -> None:
        self.client.force_login(self.alice)
        for pattern in patterns():
            address = self.address(pattern, self.begin_chat(self.alice, self.apollo))
            answer = self.client.get(address, headers={"accept-language": "de"})
            if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
                with self.subTest(page=pattern.name):
                    self.assertEqual(english_in(self.german(address)), [])

    def test_no_page_of_the_admin_says_english_to_who_reads_german(self) -> None:
        self.client.force_login(self.root)
        for address in (reverse("admin:index"), *map(self.list_url, registered())):
            with self.subTest(address=address):
                self.assertEqual(english_in(self.german(address)), [])

    def test_the_disclosure_is_read_in_german_before_memory_is_switched_on(self) -> None:
        self.client.force_login(self.alice)
        page = self.german(reverse("admin:projects_project_add"))
        self.assertIn("Alle Mitglieder dieses Projekts bekommen Antworten mit dem Gedächtnis", page)

    def test_what_somebody_chose_goes_before_what_her_browser_asks_for(self) -> None:
        self.client.logout()
        self.client.post(reverse("language"), {"language": "de", "next": "/login/"})
        self.assertContains(self.client.get("/login/", headers={"accept-language": "en"}), "Anmelden")

    def test_a_mail_is_in_the_language_of_who_invites(self) -> None:
        self.client.force_login(self.alice)
        fields = {"email": "ida@example.com", "role": "viewer"}
        self.client.post(reverse("invite", args=["acme"]), fields, headers={"accept-language": "de"})
        self.assertEqual(mail.outbox[0].subject, "Eine Einladung zu Memory Bank")
        self.assertIn("mit der Rolle „Leser“", mail.outbox[0].body)

    def test_programs_are_answered_in_english(self) -> None:
        answer = self.client.get("/api/v1/nothing", headers={"accept-language": "de"})
        self.assertEqual(answer["Content-Language"], "en-gb")

    def test_what_a_model_is_told_does_not_depend_on_who_reads_the_page(self) -> None:
        self.assertTrue(services.prompt_memory(self.apollo.bank).block.text)
        with override("de"):
            german = services.prompt_memory(self.apollo.bank, question="Grimsvale?")
        self.assertEqual(german.block, services.prompt_memory(self.apollo.bank, question="Grimsvale?").block)

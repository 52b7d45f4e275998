"""Two languages: whatever pages say is given to translators, and the German is whole, compiled and used."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import polib
import pytest
from django.contrib import admin
from django.template import base as templates
from django.utils.translation import override

from docs import words

TEMPLATES = [
    path
    for app in words.APPS
    for path in sorted((words.ROOT / app / "templates").rglob("*.*"))
    if "prompts" not in path.parts
]
#: What is the same in German, and the product's name.
SAME = {"Admin", "Memory Bank", "Chat", "Chats", "Fact", "Name", "Tokens", "Person", "Version", "Text", "OK", "ID"}
#: Percent signs are placeholders only with a letter behind.
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}|<[^>]*>")
SPEAKING = re.compile(r"\s(?:aria-label|title|placeholder|alt)=\"([^\"]*)\"")


@pytest.fixture(params=list(words.catalogues()), ids="-".join)
def catalogue(request: pytest.FixtureRequest) -> tuple[str, str]:
    app, domain = request.param
    return app, domain


def said(entry: polib.POEntry) -> list[tuple[str, str]]:
    """What each German text stands for."""
    if entry.msgid_plural:
        forms = entry.msgstr_plural
        return [(entry.msgid if number == 0 else entry.msgid_plural, text) for number, text in forms.items()]
    return [(entry.msgid, entry.msgstr)]


def test_all_that_the_sources_say_is_in_the_catalogue_and_nothing_else(catalogue: tuple[str, str]) -> None:
    assert str(words.brought_up_to_date(*catalogue)) == str(words.read(*catalogue)), "run: make words"


def test_all_of_it_is_translated(catalogue: tuple[str, str]) -> None:
    made = words.read(*catalogue)
    assert [entry.msgid for entry in made if not entry.translated() or entry.fuzzy or entry.obsolete] == []


def test_what_runs_is_what_is_written(catalogue: tuple[str, str]) -> None:
    path = words.place(*catalogue)
    assert path.with_suffix(".mo").read_bytes() == words.read(*catalogue).to_binary(), "run: make words"


def test_what_is_filled_in_is_filled_in_there_too(catalogue: tuple[str, str]) -> None:
    wrong = []
    for entry in words.read(*catalogue):
        for number, (text, german) in enumerate(said(entry)):
            known, used = PLACEHOLDER.findall(entry.msgid_plural or text), PLACEHOLDER.findall(german)
            one_is_said = entry.msgid_plural and number == 0 and set(used) <= set(known)
            if sorted(known) != sorted(used) and not one_is_said:
                wrong.append((text, german))
    assert wrong == []


def test_german_is_written_as_german_is(catalogue: tuple[str, str]) -> None:
    texts = [german for entry in words.read(*catalogue) for _text, german in said(entry)]
    assert [text for text in texts if re.search(r"[“”]", text.replace("„", "")) and "„" not in text] == []
    assert [text for text in texts if "  " in text or re.search(r"\b(?:du|dein|dir|dich)\b", text)] == []


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


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(words.ROOT).as_posix())
def test_a_template_says_nothing_in_words_of_its_own(path: Path) -> None:
    found = {piece.strip() for piece in bare(path) if re.search(r"[^\W\d_]{2}", piece)}
    assert found - SAME - {"· Memory Bank", "/compact", "wide"} == set()


def labelled() -> Iterator[tuple[str, Any]]:
    """What the admin calls things, with where."""
    for model, shown in admin.site._registry.items():
        if model._meta.app_label not in words.APPS:
            continue
        where = model.__name__
        yield from ((f"{where} {name}", getattr(model._meta, name)) for name in ("verbose_name", "verbose_name_plural"))
        for field in model._meta.local_fields:
            texts = (field.verbose_name, field.help_text, *(label for _value, label in field.flatchoices))
            yield from ((f"{where}.{field.name}", text) for text in texts if text)
        for name in (*shown.list_display, *shown.get_readonly_fields(None), *(shown.actions or ())):  # type: ignore[arg-type]
            method = getattr(shown, name, None) if isinstance(name, str) else None
            if method and name != "__str__":
                yield f"{where} {name}", getattr(method, "short_description", name.replace("_", " "))


@pytest.mark.django_db
def test_the_admin_calls_nothing_by_an_english_name() -> None:
    english = {where: [] for where, _text in labelled()}
    for where, text in labelled():
        with override("en-gb"):
            original = str(text)
        with override("de"):
            if str(text) == original and original.lower() not in {each.lower() for each in SAME}:
                english[where].append(original)
    assert {where: texts for where, texts in english.items() if texts} == {}


def english_in(page: str) -> list[str]:
    """The texts of the catalogues, but for short ones, that a page says in English."""
    shown = re.sub(r"<(script|template|pre|textarea|svg)\b.*?</\1>", " ", page, flags=re.S)
    shown = " ".join(unescape(shown).split())
    entries = [entry for app, domain in words.catalogues() for entry in words.read(app, domain)]
    ids = {entry.msgid for entry in entries if entry.msgid not in (german for _text, german in said(entry))}
    return [text for text in ids if len(text) > 12 and "%(" not in text and f">{text}" in shown]

"""Texts for translators, from the sources to the catalogues: ``make docs`` brings them up to date.

Needs no gettext tools: Babel finds, polib writes. The German itself is written in the .po files, by hand.
"""

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import polib
from babel.messages.extract import extract

ROOT = Path(__file__).resolve().parent.parent
APPS = ("memorybank", "projects")
LANGUAGE = "de"
#: Of lines in a catalogue.
WIDTH = 120
HEADER = {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Transfer-Encoding": "8bit",
    "Language": LANGUAGE,
    "Plural-Forms": "nplurals=2; plural=(n != 1);",
}
#: Which argument of each function is a message, and which its context.
KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}


class CatalogueMessage(NamedTuple):
    """One thing to translate; ``plural`` and ``context`` are "" for most."""

    text: str
    plural: str = ""
    context: str = ""


def sought(app: str, domain: str) -> set[CatalogueMessage]:
    """All that an app has for translators: of its scripts (``djangojs``), or of everything else (``django``)."""
    if domain == "djangojs":
        return {
            message
            for path in (ROOT / app / "static").rglob("*.js")
            for message in _in("javascript", path.read_bytes())
        }
    messages = {message for path in (ROOT / app).rglob("*.py") for message in _in("python", path.read_bytes())}
    for path in templates(app):
        messages |= set(_in("python", _templatized(path)))
    return messages | set(_of_models(app)) | (set(_stored()) if app == "memorybank" else set())


def templates(app: str) -> list[Path]:
    """The pages of an app: memorybank's stand in the folder of its name, all others belong to projects."""
    own = ROOT / "templates" / "memorybank"
    return [
        path for path in sorted((ROOT / "templates").rglob("*.*")) if (own in path.parents) == (app == "memorybank")
    ]


def _in(method: str, source: bytes) -> Iterator[CatalogueMessage]:
    for _line, text, _comments, context in extract(method, BytesIO(source), KEYWORDS, options={"encoding": "utf-8"}):
        one, *more = (text,) if isinstance(text, str) else text
        if one:
            yield CatalogueMessage(one, more[0] if more else "", context or "")


def _templatized(path: Path) -> bytes:
    """A template as Python with its messages in it; without its indentation, which is not Python's."""
    from django.utils.translation.template import templatize

    lines = templatize(path.read_text(encoding="utf-8"), origin=str(path)).splitlines()
    return "\n".join(map(str.lstrip, lines)).encode()


def _of_models(app: str) -> Iterator[CatalogueMessage]:
    """Names, help texts and choices of what the admin shows."""
    from django.contrib import admin

    admin.autodiscover()
    for model in admin.site._registry:
        opts = model._meta
        if opts.app_label != app:
            continue
        yield from (CatalogueMessage(str(opts.verbose_name)), CatalogueMessage(str(opts.verbose_name_plural)))
        for field in (*opts.local_fields, *opts.local_many_to_many):
            labels = [label for _value, label in field.flatchoices]
            yield from (
                CatalogueMessage(str(words)) for words in (field.verbose_name, field.help_text, *labels) if words
            )


def _stored() -> Iterator[CatalogueMessage]:
    """Words of the core, which knows no translations; they are stored in English and translated when they are shown."""
    from memorybank.core.granularity import Granularity
    from memorybank.core.turns import STEERS_ASSISTANT
    from memorybank.models.entry import BY_HAND, CAPPED_METHOD, CARRIED, EXTRACTIVE
    from memorybank.safety import quarantine

    rules = [value for name, value in vars(quarantine).items() if name.isupper()]
    reasons = {value for value in rules if isinstance(value, str) and " " in value}
    periods = [granularity.period for granularity in Granularity]
    labels = {label for period in periods for label in (period.label, period.label_in_sentence) if " " in label}
    yield from map(CatalogueMessage, labels | {period.plural for period in periods})
    yield from map(CatalogueMessage, {STEERS_ASSISTANT, BY_HAND, CAPPED_METHOD, CARRIED, EXTRACTIVE, *reasons})


def place(app: str, domain: str) -> Path:
    """Where a catalogue is."""
    return ROOT / app / "locale" / LANGUAGE / "LC_MESSAGES" / f"{domain}.po"


def read(app: str, domain: str) -> polib.POFile:
    """A catalogue as it is."""
    return polib.pofile(str(place(app, domain)), wrapwidth=WIDTH)


def catalogues() -> Iterator[tuple[str, str]]:
    """App and domain of each."""
    yield from ((app, "django") for app in APPS)
    yield "projects", "djangojs"


def brought_up_to_date(app: str, domain: str) -> polib.POFile:
    """The catalogue with all that is sought, what is there translated as it is, and nothing else; sorted by text."""
    path = place(app, domain)
    known = {(entry.msgid, entry.msgctxt or ""): entry for entry in read(app, domain)} if path.exists() else {}
    made = polib.POFile(wrapwidth=WIDTH)
    made.metadata = HEADER
    for text, plural, context in sorted(_joined(sought(app, domain))):
        old = known.get((text, context))
        entry = polib.POEntry(msgid=text, msgid_plural=plural, msgctxt=context or None)
        if plural:
            entry.msgstr_plural = old.msgstr_plural if old and old.msgstr_plural else {0: "", 1: ""}
        else:
            entry.msgstr = old.msgstr if old else ""
        made.append(entry)
    return made


def _joined(messages: set[CatalogueMessage]) -> set[CatalogueMessage]:
    """Without those that stand with a plural elsewhere: gettext knows a text once."""
    plural = {(message.text, message.context) for message in messages if message.plural}
    return {message for message in messages if message.plural or (message.text, message.context) not in plural}


def main() -> None:
    """Write every catalogue, and say what waits for its German."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for app, domain in catalogues():
        made, path = brought_up_to_date(app, domain), place(app, domain)
        path.parent.mkdir(parents=True, exist_ok=True)
        made.save(str(path))
        made.save_as_mofile(str(path.with_suffix(".mo")))
        missing = made.untranslated_entries()
        print(f"{path.relative_to(ROOT)}: {len(made)} messages, {len(missing)} without German")  # noqa: T201
        for entry in missing:
            print(f"  {entry.msgid}")  # noqa: T201


if __name__ == "__main__":
    main()

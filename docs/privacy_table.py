"""Writes the table "What is stored" in docs/privacy.md from the tables that are registered: ``make docs``."""

import os
from pathlib import Path

PAGE = Path(__file__).parent / "privacy.md"
HEAD = "| What | Where | Until |\n|---|---|---|\n"


def table() -> str:
    """A row for each kind of table, in the order of the registry."""
    from memorybank.data_inventory import TABLES

    rows = dict.fromkeys(stored.privacy for stored in TABLES)
    return HEAD + "".join(f"| {row.what} | {row.where} | {row.until} |\n" for row in rows)


def with_table(page: str) -> str:
    """The page with today's table in place of the one that it has."""
    before, _, rest = page.partition(HEAD)
    return f"{before}{table()}\n{rest.partition(chr(10) * 2)[2]}"


def main() -> None:
    """Bring the page up to date."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Writes docs/modules.md: every module of the three packages with the first line of its docstring."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs/modules.md"
PACKAGES = ("config", "projects", "memorybank")


def first_line(module: Path) -> str:
    """The first line of its docstring, as Markdown; empty if it has none."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].replace("``", "`")


def listing(package: str) -> Iterator[str]:
    """A line for every module that says what it is for, folder by folder."""
    for module in sorted((ROOT / package).rglob("*.py"), key=lambda path: (path.parent, path.name)):
        if "migrations" not in module.parts and (line := first_line(module)):
            name = module.parent if module.name == "__init__.py" else module
            yield f"- `{name.relative_to(ROOT)}` {line}"


if __name__ == "__main__":
    head = "# Modules\n\nThe first line of each file, as `make docs` lists them. "
    pages = [f"## {package}\n\n" + "\n".join(listing(package)) for package in PACKAGES]
    TARGET.write_text(head + "[Architecture](architecture.md) has the map.\n\n" + "\n\n".join(pages) + "\n")

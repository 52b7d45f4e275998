"""How much masking finds of what it must mask, and masks of what it must not: python -m benchmarks.masking CORPUS_DIR.

CORPUS_DIR holds secrets.jsonl ({"text", "secret", "kind", "language"}), personal.jsonl ({"text", "value", "kind"}) and
nonsecrets.jsonl ({"text"}); any of them may be missing. A secret counts as masked if nothing of it can be read.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memorybank.language import plain
from memorybank.safety.redaction import redact

SIGNS = str.maketrans("", "", "*`~")


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none if it is missing."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def is_masked(text: str, secret: str) -> bool:
    """Whether the secret is gone, and no piece of half its length is left."""
    left = plain(redact(text).text).translate(SIGNS)
    secret = plain(secret).translate(SIGNS)
    half = max(4, len(secret) // 2)
    pieces = [secret[at : at + half] for at in range(len(secret) - half + 1)] or [secret]
    return not any(piece in left for piece in pieces)


def shares(name: str, found: Iterable[tuple[str, bool]]) -> None:
    """Print the share that was masked, by ``name``."""
    whole, masked = Counter[str](), Counter[str]()
    for key, is_gone in found:
        whole[key] += 1
        masked[key] += is_gone
    for key in sorted(whole):
        print(f"  {name} {key}: {masked[key]} of {whole[key]}")


def measure(name: str, cases: list[dict[str, Any]], value: str, *, show: bool) -> None:
    """Print what was masked of one file, by kind and by language."""
    results = [(row, is_masked(row["text"], row[value])) for row in cases]
    print(
        f"{name}: {sum(gone for _, gone in results)} of {len(results)} masked ({sum(g for _, g in results) / len(results):.1%})"
    )
    for by in ("kind", "language"):
        shares(by, [(row.get(by, "-"), gone) for row, gone in results])
    for row, gone in results if show else []:
        if not gone:
            print(f"  left: {row['text']!r} -> {redact(row['text']).text!r}")


def main() -> None:
    """Measure one corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--show", action="store_true", help="print what was left, and what was masked for nothing")
    options = parser.parse_args()
    for name, value in (("secrets", "secret"), ("personal", "value")):
        if cases := rows(options.corpus / f"{name}.jsonl"):
            measure(name, cases, value, show=options.show)
    if innocent := [row["text"] for row in rows(options.corpus / "nonsecrets.jsonl")]:
        touched = [text for text in innocent if redact(text).kinds]
        print(f"nonsecrets: {len(touched)} of {len(innocent)} touched ({len(touched) / len(innocent):.1%})")
        for text in touched if options.show else []:
            print(f"  touched: {text!r} -> {redact(text).text!r}")


if __name__ == "__main__":
    main()

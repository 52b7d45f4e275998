"""Explain how extraction scores a sentence."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memorybank import services
from memorybank.services import ExplainedLine

from ..base import USAGE_EXIT_CODE, MemoryCommand

ROW_FORMAT = "  {:<20}{:>9}{:>10}{:>12}"


class Command(MemoryCommand):
    help = (
        "Explain how extraction scores TEXT as a message: each sentence with its kind, its features, and its worth "
        "from 0 to 1. Of a chat, the sentences with the highest worth are kept, up to a share of its tokens."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("text", metavar="TEXT", help="one or more sentences")
        parser.add_argument("--assistant", action="store_true", help="treat TEXT as a message of the model")

    def handle(self, *, text: str, assistant: bool, **options: Any) -> None:
        lines = services.explain_line(text, assistant=assistant)
        if not lines:
            raise CommandError("TEXT: nothing is left of it but markup or white space.", returncode=USAGE_EXIT_CODE)
        for line in lines:
            self.stdout.write("\n".join(_rows(line)))


def _rows(line: ExplainedLine) -> Iterator[str]:
    yield line.text
    yield f"  kind: {line.kind}"
    if line.too_short:
        yield "  never kept: too short to say something by itself"
    if line.held_back:
        yield f"  kept but held back from every prompt: it {line.held_back}"
    yield ROW_FORMAT.format("feature", "measure", "× weight", "= log odds")
    yield ROW_FORMAT.format("(every sentence)", "", "", f"{line.bias:.2f}")
    for feature in line.features:
        odds = feature.measure * feature.weight + 0.0  # so that there is no -0.00
        yield ROW_FORMAT.format(feature.name, f"{feature.measure:.2f}", f"{feature.weight:.2f}", f"{odds:.2f}")
    for name, share in line.discounts:
        yield f"  {name}: only {share} of that worth"
    yield f"  worth: {line.worth}"

"""Say why a sentence would be kept, and why not."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memorybank import services
from memorybank.services import ExplainedLine

from ..base import USAGE, MemoryCommand

ROW = "  {:<20}{:>9}{:>10}{:>12}"


class Command(MemoryCommand):
    help = (
        "Say what extraction makes of TEXT as if it were a message of its own: each sentence with its kind, its "
        "features, and its worth from 0 to 1. Of a chat, what is worth most is kept, up to a share of its tokens."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("text", metavar="TEXT", help="one sentence or several, as somebody would write them")
        parser.add_argument("--assistant", action="store_true", help="as if the model had said it, not a person")

    def handle(self, *, text: str, assistant: bool, **options: Any) -> None:
        lines = services.explain_line(text, assistant=assistant)
        if not lines:
            raise CommandError("TEXT: nothing is left of it but markup or white space.", returncode=USAGE)
        for line in lines:
            self.stdout.write("\n".join(rows(line)))


def rows(line: ExplainedLine) -> Iterator[str]:
    """The sentence, what is against it, and how its worth comes about."""
    yield line.text
    yield f"  kind: {line.kind}"
    if line.too_short:
        yield "  never kept: too short to say something by itself"
    if line.held_back:
        yield f"  kept but held back from every prompt: it {line.held_back}"
    yield ROW.format("feature", "measure", "× weight", "= log odds")
    yield ROW.format("(every sentence)", "", "", f"{line.bias:.2f}")
    for each in line.features:
        odds = each.measure * each.weight + 0.0  # so that there is no -0.00
        yield ROW.format(each.name, f"{each.measure:.2f}", f"{each.weight:.2f}", f"{odds:.2f}")
    for name, share in line.discounts:
        yield f"  {name}: only {share} of that worth"
    yield f"  worth: {line.worth}"

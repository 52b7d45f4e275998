"""Show the memory of a project exactly as a chat gets it: the block, and what is recalled for a question."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services
from memorybank.services import MAX_RECALL_TOKENS, MAX_TOKENS, Block, Text

from ..base import MemoryCommand, add_project_argument, between, find_project

#: What is told of each line.
LINE = ("text", "granularity", "period", "citations")


class Command(MemoryCommand):
    help = (
        "Print the memory block of a project exactly as a chat would get it, in its system prompt; with a question, "
        "the notes that would stand beside that message, too. Token counts go to standard error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument(
            "--budget",
            metavar="TOKENS",
            type=between(1, MAX_TOKENS, "tokens"),
            help=f"render the block for so many tokens, 1 to {MAX_TOKENS:,}, instead of the project's own budget",
        )
        asked = "also print what is recalled for this message; the block stays the same bytes"
        parser.add_argument("--question", metavar="TEXT", default="", help=asked)
        parser.add_argument(
            "--recall",
            metavar="TOKENS",
            type=between(0, MAX_RECALL_TOKENS, "tokens"),
            help=f"recall so many tokens, 0 to {MAX_RECALL_TOKENS:,}, instead of the project's own recall budget",
        )
        parser.add_argument(
            "--exclude-chat",
            metavar="KEY",
            default="",
            help="as the chat with this key would get it: without its own lines",
        )
        parser.add_argument(
            "--json", action="store_true", help="print both as JSON, with each line's period and the outputs it cites"
        )

    def handle(self, *, project: str, exclude_chat: str, question: str, json: bool, **options: Any) -> None:
        bank = find_project(project).bank
        if question:
            services.reindex(bank)
        block = services.render(
            bank,
            budget=options["budget"],
            recall_budget=options["recall"],
            exclude_chat=exclude_chat,
            question=question,
        )
        if json:
            self.print_json(as_row(block))
            return
        self.stdout.write(block.text)
        why = "" if bank.enabled else " The bank is off: nothing is shown."
        self.stderr.write(f"{block.tokens:,} of {block.budget:,} tokens ({block.encoding}).{why}")
        if question:
            self.stdout.write(f"\n{block.recalled.text}" if block.recalled.text else "")
            self.stderr.write(f"{block.recalled.tokens:,} tokens recalled for the question.")


def as_row(block: Block) -> dict[str, Any]:
    """Both texts for ``--json``."""
    return {
        "block": block.text,
        "tokens": block.tokens,
        "budget": block.budget,
        "recalled": block.recalled.text,
        "recalled_tokens": block.recalled.tokens,
        "encoding": block.encoding,
        "lines": rows(block),
        "recalled_lines": rows(block.recalled),
    }


def rows(text: Text) -> list[dict[str, Any]]:
    """The lines of a text for ``--json``."""
    return [{name: getattr(line, name) for name in LINE} for line in text.lines]

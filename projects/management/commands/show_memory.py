"""Print a project's memory exactly as a chat gets it: the block, and the notes for a question."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services
from memorybank.services import MAX_RECALL_TOKENS, MAX_TOKENS, Block, Text

from ..base import MemoryCommand, add_project_argument, find_project, whole_number

#: The fields of a line that are printed as JSON.
LINE_FIELDS = ("text", "granularity", "period", "citations")


class Command(MemoryCommand):
    help = (
        "Print the memory block of a project exactly as a chat would get it, in its system prompt; with a question, "
        "also the notes for that message. Token counts go to standard error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument(
            "--budget",
            metavar="TOKENS",
            type=whole_number(1, MAX_TOKENS, "tokens"),
            help=f"render the block for this many tokens, 1 to {MAX_TOKENS:,}, instead of the project's own budget",
        )
        question_help = "also print the notes for this message; the block stays the same"
        parser.add_argument("--question", metavar="TEXT", default="", help=question_help)
        parser.add_argument(
            "--recall",
            metavar="TOKENS",
            type=whole_number(0, MAX_RECALL_TOKENS, "tokens"),
            help=f"recall this many tokens, 0 to {MAX_RECALL_TOKENS:,}, instead of the project's own recall budget",
        )
        parser.add_argument(
            "--exclude-chat",
            metavar="KEY",
            default="",
            help="leave out the lines of the chat with this key, as that chat would get it",
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
        why = "" if bank.enabled else " Memory is off: nothing is shown."
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
    return [{name: getattr(line, name) for name in LINE_FIELDS} for line in text.lines]

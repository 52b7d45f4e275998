"""Print a project's memory exactly as a chat gets it: the block, and the notes for a question."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services
from memorybank.services import MAX_RECALL_TOKENS, MAX_TOKENS, Block, Text

from ..base import (
    MemoryCommand,
    add_number_argument,
    add_project_argument,
    add_viewer_argument,
    find_asker,
    find_project,
)

#: The fields of a line that are printed as JSON.
LINE_FIELDS = ("text", "speaker", "granularity", "period", "citations")


class Command(MemoryCommand):
    help = (
        "Print the memory block of a project exactly as a chat would get it, in its system prompt; with a viewer, also "
        "what is for them alone; with a question, also the notes for that message. Token counts go to standard error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        add_viewer_argument(parser)
        budget_help = f"render the block for this many tokens, 1 to {MAX_TOKENS:,}, instead of the project's own budget"
        add_number_argument(parser, "--budget", 1, MAX_TOKENS, unit="tokens", help=budget_help)
        question_help = "also print the notes for this message; the block stays the same"
        parser.add_argument("--question", metavar="TEXT", default="", help=question_help)
        recall_help = f"recall this many tokens, 0 to {MAX_RECALL_TOKENS:,}, instead of the project's own recall budget"
        add_number_argument(parser, "--recall", 0, MAX_RECALL_TOKENS, unit="tokens", help=recall_help)
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
        target = find_project(project)
        bank = target.bank
        if question:
            services.reindex(bank)
        block = services.render(
            bank,
            budget=options["budget"],
            recall_budget=options["recall"],
            exclude_chat=exclude_chat,
            question=question,
            asker=find_asker(target, options["viewer"]),
        )
        if json:
            self.print_json({**_block_json(block), **(_personal_json(block) if options["viewer"] else {})})
            return
        self.stdout.write(block.text)
        why = "" if bank.enabled else " Memory is off: nothing is shown."
        self.stderr.write(f"{block.tokens:,} of {block.budget:,} tokens ({block.encoding}).{why}")
        if options["viewer"]:
            self.stdout.write(f"\n{block.personal.text}" if block.personal.text else "")
            self.stderr.write(f"{block.personal.tokens:,} of {bank.personal_tokens:,} tokens for this person only.")
        if question:
            self.stdout.write(f"\n{block.recalled.text}" if block.recalled.text else "")
            self.stderr.write(f"{block.recalled.tokens:,} tokens recalled for the question.")


def _block_json(block: Block) -> dict[str, Any]:
    return {
        "block": block.text,
        "tokens": block.tokens,
        "budget": block.budget,
        "recalled": block.recalled.text,
        "recalled_tokens": block.recalled.tokens,
        "encoding": block.encoding,
        "lines": _lines_json(block),
        "recalled_lines": _lines_json(block.recalled),
    }


def _personal_json(block: Block) -> dict[str, Any]:
    """The part of memory that only the viewer can see."""
    personal = block.personal
    return {"personal": personal.text, "personal_tokens": personal.tokens, "personal_lines": _lines_json(personal)}


def _lines_json(text: Text) -> list[dict[str, Any]]:
    return [{name: getattr(line, name) for name in LINE_FIELDS} | {"reported": line.is_report} for line in text.lines]

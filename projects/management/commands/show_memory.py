"""Show the memory block of a project exactly as a chat gets it."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services
from memorybank.models.bank import MAX_TOKENS

from ..base import MemoryCommand, add_project_argument, between, find_project

#: What is told of each line.
LINE = ("text", "granularity", "period", "citations")


class Command(MemoryCommand):
    help = "Print the memory block of a project exactly as a chat would get it; its token count goes to standard error."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument(
            "--budget",
            metavar="TOKENS",
            type=between(1, MAX_TOKENS, "tokens"),
            help=f"render for so many tokens, 1 to {MAX_TOKENS:,}, instead of the project's own budget",
        )
        parser.add_argument(
            "--question", metavar="TEXT", default="", help="as a chat that asks this would get it: with what answers it"
        )
        parser.add_argument(
            "--exclude-chat",
            metavar="KEY",
            default="",
            help="as the chat with this key would get it: without its own lines",
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help="print the block as JSON, with each line's period and the outputs it cites",
        )

    def handle(self, *, project: str, exclude_chat: str, question: str, json: bool, **options: Any) -> None:
        bank = find_project(project).bank
        if question:
            services.reindex(bank)
        block = services.render(bank, budget=options["budget"], exclude_chat=exclude_chat, question=question)
        if json:
            lines = [{name: getattr(line, name) for name in LINE} for line in block.lines]
            about = {"tokens": block.tokens, "budget": block.budget, "encoding": block.encoding}
            self.print_json({"block": block.text, **about, "lines": lines})
            return
        self.stdout.write(block.text)
        why = "" if bank.enabled else " The bank is off: nothing is shown."
        self.stderr.write(f"{block.tokens:,} of {block.budget:,} tokens ({block.encoding}).{why}")

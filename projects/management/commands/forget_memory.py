"""Erase a chat, a person or a turn with everything derived from it."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services

from ..base import COMMAND_ACTOR, MemoryCommand, add_project_argument, find_project, whole_number

MAX_OUTPUT_ID = 10**9 - 1


class Command(MemoryCommand):
    help = (
        "Erase one chat, everything one person said, or one turn, with all data derived from it: summaries, digests, "
        "index, vectors, stored blocks, values stored as hashes. What other people said is kept; summaries that a "
        "model wrote are rebuilt by the next sweep. Prints the receipt: counts, never the erased text. Erasure cannot "
        "be undone, and a second import restores nothing. Delete backups and exports yourself."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--chat", metavar="KEY", help="the chat with this key")
        what.add_argument("--author", metavar="USER", help="everything this person said in any chat of the project")
        what.add_argument(
            "--output",
            metavar="N",
            type=whole_number(1, MAX_OUTPUT_ID, "turns"),
            help="one turn, as recall_memory numbers it",
        )
        what.add_argument(
            "--everything", action="store_true", help="all chats; nothing said until now is included again"
        )
        parser.add_argument("--dry-run", action="store_true", help="report what would be erased, and erase nothing")
        parser.add_argument("--json", action="store_true", help="print the receipt as JSON")

    def handle(self, *, project: str, everything: bool, dry_run: bool, json: bool, **options: Any) -> None:
        bank = find_project(project).bank
        if everything:
            receipt = services.clear(bank, actor=COMMAND_ACTOR, dry_run=dry_run)
        else:
            named = {name: options[name] for name in ("chat", "author", "output")}
            receipt = services.forget(bank, actor=COMMAND_ACTOR, dry_run=dry_run, **named)
        self.print_json(receipt.as_dict()) if json else self.print_counts(_readable(receipt))


def _readable(receipt: services.Receipt) -> dict[str, Any]:
    """The receipt without empty fields."""
    shown = receipt.as_dict() | {"at": f"{receipt.at:%-d %B %Y, %H:%M} UTC", "id": receipt.id or "none: a dry run"}
    return {name: value for name, value in shown.items() if value or name == "dry_run"}

"""Erase a chat, a person or a turn from a project, with all that was made of it."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services

from ..base import ACTOR, MemoryCommand, add_project_argument, find_project, row_number


class Command(MemoryCommand):
    help = (
        "Erase one chat, all that one person said, or one turn, with all that was made of it: summaries, digests, "
        "index, vectors, stored blocks, values known by a hash. What others said stays; where a model wrote the lines, "
        "it is asked anew by the next sweep. Prints the receipt: counts, never what was erased. Nothing brings it "
        "back, not a second import either; backups and exports are yours."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--chat", metavar="KEY", help="the chat with this key")
        what.add_argument("--author", metavar="USER", help="all that this person said, in any chat of the project")
        what.add_argument(
            "--output", metavar="ID", type=row_number, help="one turn, by its public id, as recall_memory prints it"
        )
        what.add_argument(
            "--everything", action="store_true", help="all chats; what was said until now is not taken in again"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and erase nothing")
        parser.add_argument("--json", action="store_true", help="print the receipt as JSON")

    def handle(self, *, project: str, everything: bool, dry_run: bool, json: bool, **options: Any) -> None:
        bank = find_project(project).bank
        if everything:
            receipt = services.clear(bank, actor=ACTOR, dry_run=dry_run)
        else:
            named = {name: options[name] for name in ("chat", "author", "output")}
            receipt = services.forget(bank, actor=ACTOR, dry_run=dry_run, **named)
        told = receipt.as_dict() | {"id": services.public_id(receipt.id) or None}
        self.print_json(told) if json else self.print_counts(_readable(receipt, told))


def _readable(receipt: services.ErasureReceipt, told: dict[str, Any]) -> dict[str, Any]:
    """Without what is none."""
    shown = told | {"at": f"{receipt.at:%-d %B %Y, %H:%M} UTC", "id": told["id"] or "none: a dry run"}
    return {name: value for name, value in shown.items() if value or name == "dry_run"}

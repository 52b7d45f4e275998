"""Erase a chat, a person or a turn with everything derived from it."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services

from ..base import COMMAND_ACTOR, MemoryCommand, add_project_argument, find_project, row_number


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
            "--output", metavar="ID", type=row_number, help="one turn, by its public id, as recall_memory prints it"
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
        fields = receipt.as_dict() | {"id": services.public_id(receipt.id) or None}
        self.print_values(fields if json else _readable(receipt, fields), json=json)


def _readable(receipt: services.ErasureReceipt, fields: dict[str, Any]) -> dict[str, Any]:
    """The receipt without empty fields."""
    shown = fields | {"at": f"{receipt.at:%-d %B %Y, %H:%M} UTC", "id": fields["id"] or "none: a dry run"}
    return {name: value for name, value in shown.items() if value or name == "dry_run"}

"""Erase a chat, a person or a turn with everything derived from it; repeat erasures after a backup was restored."""

import json as json_format
from argparse import ArgumentTypeError
from collections import defaultdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from memorybank import services
from projects.models import Project

from ..base import (
    COMMAND_ACTOR,
    FAILURE_EXIT_CODE,
    USAGE_EXIT_CODE,
    MemoryCommand,
    find_project,
    open_lines,
    parse_time,
    pluralised,
    readable_path,
    row_id_argument,
)

#: The fields of a line in a receipts file, with their types; ``until`` may be empty or missing.
RECEIPT = {"project": str, "kind": str, "subject": str, "asked_by": str, "epoch": int, "counts": dict, "at": str}


class Command(MemoryCommand):
    help = (
        "Erase one chat, everything one person said, or one turn, with all data derived from it: summaries, digests, "
        "index, vectors, stored blocks, values stored as hashes. What other people said is kept; summaries that a "
        "model wrote are rebuilt by the next sweep. Prints the receipt: counts, never the erased text. Erasure cannot "
        "be undone, and a second import restores nothing. Delete backups and exports yourself. --receipts prints the "
        "receipts of all projects: keep them apart from the backups. After a restore, --replay FILE repeats what was "
        "erased since the backup."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="T/P", nargs="?", help="tenant-slug/project-slug")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--chat", metavar="KEY", help="the chat with this key")
        what.add_argument("--author", metavar="USER", help="everything this person said in any chat of the project")
        what.add_argument(
            "--output",
            metavar="ID",
            type=row_id_argument,
            help="one turn, by its public id, as recall_memory prints it",
        )
        what.add_argument(
            "--everything", action="store_true", help="all chats; nothing said until now is included again"
        )
        what.add_argument("--receipts", action="store_true", help="print all receipts as JSON Lines: hashes, no names")
        what.add_argument(
            "--replay",
            metavar="FILE",
            type=readable_path,
            help="repeat the erasures of receipts; - reads standard input",
        )
        parser.add_argument("--dry-run", action="store_true", help="report what would be erased, and erase nothing")
        parser.add_argument("--json", action="store_true", help="print the receipt as JSON")

    def handle(self, *, project: str | None, everything: bool, dry_run: bool, json: bool, **options: Any) -> None:
        if options["receipts"] or options["replay"]:
            if project or dry_run:
                raise CommandError("--receipts and --replay are for all projects.", returncode=USAGE_EXIT_CODE)
            self._replay(options["replay"], json=json) if options["replay"] else self._print_receipts()
            return
        if not project:
            raise CommandError("Name a project, T/P.", returncode=USAGE_EXIT_CODE)
        bank = find_project(project).bank
        if everything:
            receipt = services.erase_everything(bank, actor=COMMAND_ACTOR, dry_run=dry_run)
        else:
            named = {name: options[name] for name in ("chat", "author", "output")}
            receipt = services.erase(bank, actor=COMMAND_ACTOR, dry_run=dry_run, **named)
        fields = receipt.as_dict() | {"id": services.public_id(receipt.id) or None}
        self.print_values(fields if json else _readable(receipt, fields), json=json)

    def _print_receipts(self) -> None:
        for project in Project.objects.select_related("tenant", "bank"):
            for row in services.receipts(project.bank):
                line = {"project": project.path, **row}
                self.stdout.write(json_format.dumps(line, cls=DjangoJSONEncoder, ensure_ascii=False))

    def _replay(self, path: str, *, json: bool) -> None:
        with open_lines(path) as lines:
            rows = [_receipt(line, number) for number, line in enumerate(lines, start=1) if line.strip()]
        by_project: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            by_project[row.pop("project")].append(row)
        totals, undecided = {"receipts": len(rows), "known": 0, "taken": 0, "erased": 0, "turns": 0, "no_project": 0}, 0
        for path, theirs in sorted(by_project.items()):
            project = Project.objects.at(path).select_related("bank").first()
            if project is None:  # created after the backup, so nothing of it was restored
                totals["no_project"] += len(theirs)
                continue
            report = services.replay(project.bank, theirs, actor=COMMAND_ACTOR)
            for name in ("known", "taken", "erased", "turns"):
                totals[name] += getattr(report, name)
            for number in report.undecided:
                undecided += 1
                receipt = services.public_id(number)
                self.stderr.write(f"{path}: receipt {receipt}: somebody wrote there afterwards; erase by hand.")
        self.print_values(totals, json=json)
        if undecided:
            text = f"{pluralised(undecided, 'receipt')} could not be repeated."
            raise CommandError(text, returncode=FAILURE_EXIT_CODE)


def _receipt(line: str, number: int) -> dict[str, Any]:
    """Parse a line that ``--receipts`` printed. Raises :class:`CommandError` with a one-line message."""
    try:
        row = json_format.loads(line)
        if not isinstance(row, dict):
            raise ValueError("no JSON object: not as --receipts prints it")
        missing = [name for name, kind in RECEIPT.items() if not isinstance(row.get(name), kind)]
        until = row.pop("until", None)
        if missing or set(row) != set(RECEIPT):
            raise ValueError(f"{', '.join(missing or sorted(set(row) - set(RECEIPT)))}: not as --receipts prints it")
        return {**row, "at": parse_time(row["at"]), "until": until and parse_time(until)}
    except (ValueError, AttributeError, ArgumentTypeError) as error:
        raise CommandError(f"line {number}: {str(error)[:200]}", returncode=USAGE_EXIT_CODE) from error


def _readable(receipt: services.ErasureReceipt, fields: dict[str, Any]) -> dict[str, Any]:
    """The receipt without empty fields."""
    shown = fields | {"at": f"{receipt.at:%-d %B %Y, %H:%M} UTC", "id": fields["id"] or "none: a dry run"}
    return {name: value for name, value in shown.items() if value or name == "dry_run"}

"""Import outputs from a JSON Lines file, or the chats of another product's export."""

import os
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now
from tqdm import tqdm

from memorybank import services
from memorybank.services import Bank
from projects.importing.conversations import Audience, ImportCounts, ImportTarget, record_conversation
from projects.importing.estimate import Estimate
from projects.importing.exports import FORMATS, BadConversation, ExportedConversation, ExportedTurn, read_export
from projects.importing.jsonl import BadLineError, ImportLine, LineReader
from projects.importing.printable import printable
from projects.importing.service import BATCH_LINES, ProjectCache, batches, import_batch

from ..base import (
    COMMAND_ACTOR,
    FAILURE_EXIT_CODE,
    USAGE_EXIT_CODE,
    MemoryCommand,
    add_file_arguments,
    find_project,
    open_lines,
    pluralised,
)


class Command(MemoryCommand):
    help = (
        "Record the outputs of a JSON Lines file, one output a line, with the fields tenant, project, chat, user, "
        "question, answer and created_at (ISO 8601 with a zone), and optionally id, messages, status (ok, error, "
        "blocked, cancelled, stopped or pending) and title. Missing tenants, projects and chats are created. "
        "Importing the same file twice changes nothing; an answer to an id that had none completes it. A bad line is "
        "reported with its number and skipped; then the exit code is 1. "
        f"Lines are recorded {BATCH_LINES:,} at a time; after an interruption, import the file again to continue. "
        "With --from, the file is an export of another product, as a zip or as JSON. Its chats go into --project as "
        "those of --user, private unless --audience says otherwise. --dry-run counts and records nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_file_arguments(parser)
        parser.add_argument(
            "--enable",
            action="store_true",
            help="switch on the memory of every project in the file. You accept the privacy disclosure: answers in a "
            "project use notes from everybody's chats. Where memory was off, everything recorded so far is included",
        )
        parser.add_argument(
            "--strict", action="store_true", help="stop at the first bad line; earlier lines stay recorded"
        )
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="record nothing; print people, chats, turns, dates, tokens, what a model would cost, what is left out",
        )
        parser.add_argument("--from", dest="format", choices=FORMATS, help="the product that the file is an export of")
        parser.add_argument("--project", metavar="T/P", help="with --from: the project that gets the chats")
        parser.add_argument(
            "--user",
            metavar="[ID=]NAME",
            type=_author,
            action="append",
            default=[],
            dest="users",
            help="with --from: whose chats they are; ID=NAME for one of several people in the export, once for each",
        )
        parser.add_argument(
            "--audience",
            choices=[audience.value for audience in Audience],
            help="with --from: whom their memory is for: the user alone (private, the default), or the project",
        )

    def handle(self, *, file: str, format: str | None, **options: Any) -> None:
        needs_format = [name for name in ("project", "users", "audience") if options[name]]
        if not format and needs_format:
            raise CommandError(f"--{needs_format[0].rstrip('s')} needs --from.", returncode=USAGE_EXIT_CODE)
        if format and (options["transcript"] or file == "-"):
            raise CommandError("--from reads a file, and no transcripts.", returncode=USAGE_EXIT_CODE)
        if format:
            self._import_export(file, format, **options)
        elif options["dry_run"]:
            self._count_lines(file, **options)
        else:
            self._import_lines(file, **options)

    def _import_lines(
        self, file: str, *, enable: bool, strict: bool, transcript: bool, json: bool, **options: Any
    ) -> None:
        projects = ProjectCache()
        counts = {"lines": 0, "recorded": 0, "known": 0, "bad": 0}
        reader = LineReader(now(), transcript)
        with open_lines(file) as lines, _bar(lines) as bar:
            for batch in batches(reader.read(lines), strict=strict):
                for outcome in import_batch(projects, batch, now=now()):
                    counts["lines"] += 1
                    counts[self._counted(outcome, strict)] += 1
                _advance(bar, lines, counts["lines"])
        if enable:
            _enable(project.bank for project in projects.all())
        counts["projects"] = len(projects.all())
        if reader.hint:
            self.stderr.write(reader.hint)
        self.print_values(counts, json=json)
        self._fail_if_bad(counts["bad"], counts["lines"], "line")

    def _count_lines(self, file: str, *, transcript: bool, json: bool, **options: Any) -> None:
        """Dry run: count the lines without recording them."""
        estimate, lines_read = Estimate(), 0
        with open_lines(file) as lines:
            for line in LineReader(now(), transcript).read(lines):
                lines_read += 1
                if isinstance(line, ImportLine):
                    new = line.output
                    turn = ExportedTurn(new.key, new.question, new.answer, new.created_at)
                    estimate.add_turns(new.author, f"{line.path}/{new.chat_key}", [turn])
                else:
                    self.stderr.write(str(line))
                    estimate.add_bad(str(line))
        self.print_values(estimate.as_dict(), json=json)
        self._fail_if_bad(estimate.bad, lines_read, "line")

    def _import_export(
        self,
        file: str,
        format: str,
        *,
        project: str | None,
        users: list[tuple[str, str]],
        audience: str | None,
        enable: bool,
        strict: bool,
        json: bool,
        dry_run: bool,
        **options: Any,
    ) -> None:
        if not project or not (users or dry_run):
            raise CommandError("--from needs --project, and --user for each person.", returncode=USAGE_EXIT_CODE)
        target = ImportTarget(find_project(project), format, Audience(audience or Audience.PRIVATE), dict(users))
        estimate, counts = Estimate(), ImportCounts()
        for conversation, recorded in self._conversations(file, target, dry_run=dry_run):
            estimate.add(conversation, recorded.known)
            counts = counts + recorded
            for bad in (conversation, *recorded.bad):
                if isinstance(bad, BadConversation):
                    self.stderr.write(printable(str(bad)))
                    if strict:
                        raise CommandError("Nothing after it was read.", returncode=FAILURE_EXIT_CODE)
        if enable and not dry_run:
            _enable([target.project.bank])
        values = estimate.as_dict() if dry_run else {"chats": estimate.chats, **counts.as_dict(), "bad": 0}
        values["bad"] = estimate.bad + len(counts.bad)
        self.print_values(values, json=json)
        self._fail_if_bad(values["bad"], estimate.chats + estimate.bad, "conversation")

    def _conversations(
        self, file: str, target: ImportTarget, *, dry_run: bool
    ) -> Iterator[tuple[ExportedConversation | BadConversation, ImportCounts]]:
        """Record each conversation of the file unless it is a dry run; yield it with its result."""
        readers = {} if dry_run else target.readers()
        with open(file, "rb") as stream, tqdm(unit=" chats", disable=None, leave=False) as bar:
            for conversation in read_export(stream, Path(file).name, target.format)[1]:
                if isinstance(conversation, BadConversation):
                    yield conversation, ImportCounts()
                elif dry_run:
                    yield conversation, ImportCounts(known=target.known(conversation))
                else:
                    yield conversation, record_conversation(target, readers, conversation, now=now())
                bar.update()

    def _fail_if_bad(self, bad: int, count: int, noun: str) -> None:
        if bad:
            raise CommandError(f"Skipped {bad:,} bad of {pluralised(count, noun)}.", returncode=FAILURE_EXIT_CODE)

    def _counted(self, outcome: bool | BadLineError, strict: bool) -> str:
        if not isinstance(outcome, BadLineError):
            return "recorded" if outcome else "known"
        if strict:
            raise CommandError(f"{outcome} Nothing after it was read.", returncode=FAILURE_EXIT_CODE)
        self.stderr.write(str(outcome))
        return "bad"


def _author(text: str) -> tuple[str, str]:
    """Parse ``[ID=]NAME`` to a person of the export and a user name; the person "" stands for everybody else."""
    person, equals, name = text.rpartition("=")
    if not name or (equals and not person):
        raise ArgumentTypeError(f"“{text[:40]}” is not NAME or ID=NAME")
    return person, name


def _enable(banks: Iterable[Bank]) -> None:
    for bank in banks:
        services.enable(bank, actor=COMMAND_ACTOR, disclosure_accepted=True, history=not bank.enabled)


def _bar(lines: TextIOWrapper) -> "tqdm[NoReturn]":
    """A progress bar in bytes of the file, or in lines if the file's size is unknown."""
    unsized = not lines.seekable()
    total, unit = (None, " lines") if unsized else (os.fstat(lines.fileno()).st_size, "B")
    return tqdm(total=total, unit=unit, unit_scale=not unsized, miniters=1, disable=None, leave=False)


def _advance(bar: "tqdm[NoReturn]", lines: TextIOWrapper, count: int) -> None:
    """Advance to the file position, or to ``count`` lines. Call it once everything that was read is recorded."""
    reached = count if bar.total is None else os.lseek(lines.fileno(), 0, os.SEEK_CUR)
    bar.update(reached - bar.n)

"""Base class and argument parsers of all commands; errors are reported in one line."""

import json
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from io import TextIOWrapper
from typing import Any, NoReturn

from django.contrib.auth.models import User
from django.core.checks import Tags
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, ProgrammingError, connection
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive

from memorybank import services
from memorybank.exceptions import InvalidInput, MemoryBankError
from memorybank.services import ANYBODY, Asker, PublicId
from projects.importing.printable import is_utf8, printable
from projects.tenancy import people

from ..models import Project, Tenant

USAGE_EXIT_CODE, FAILURE_EXIT_CODE = 2, 1
TRANSCRIPT_HELP = (
    "the file is a transcript of conversations between people: a name before a colon at the start of a question or an "
    "answer is its speaker. You vouch for these names; members of the tenant are not accepted as speakers"
)
COMMAND_ACTOR = "command line"


def _fail_in_one_line(parser: CommandParser, message: str) -> NoReturn:
    """Print the error in one line; argparse would print the usage first."""
    if parser.called_from_command_line:
        parser.exit(USAGE_EXIT_CODE, f"{parser.prog}: {printable(message)}. See --help.\n")
    raise CommandError(f"{message}.", returncode=USAGE_EXIT_CODE)


class MemoryCommand(BaseCommand):
    """A command that exits with 2 for wrong usage and 1 for failures, with a one-line message."""

    # URLs and admin are checked when the site is served; checking them here would import all pages.
    requires_system_checks = [Tags.models, "memorybank"]
    # These options still work; --help lists only the command's own.
    suppressed_base_arguments = {
        *("--version", "--verbosity", "--settings", "--pythonpath"),
        *("--traceback", "--no-color", "--force-color"),
    }

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.error = partial(_fail_in_one_line, parser)  # type: ignore[method-assign]
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        if not all(map(is_utf8, argv)):
            self.stderr.write(f"manage.py {argv[1]}: an argument is not valid UTF-8. See --help.")
            sys.exit(USAGE_EXIT_CODE)
        super().run_from_argv(argv)

    def execute(self, *args: Any, **options: Any) -> Any:
        try:
            with services.all_banks_entered():  # until the command calls find_project
                return super().execute(*args, **options)
        except InvalidInput as error:
            raise CommandError(printable(str(error)), returncode=USAGE_EXIT_CODE) from error
        except (MemoryBankError, ImproperlyConfigured) as error:
            raise CommandError(printable(str(error), 600), returncode=FAILURE_EXIT_CODE) from error
        except DatabaseError as error:
            raise CommandError(_explain_database_error(error), returncode=FAILURE_EXIT_CODE) from error
        except BrokenPipeError:  # the reader, such as head, has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(FAILURE_EXIT_CODE)
        except OSError as error:
            message = f"{error.filename or 'file'}: {error.strerror}."
            raise CommandError(message, returncode=FAILURE_EXIT_CODE) from error

    def print_values(self, values: Mapping[str, Any], *, json: bool) -> None:
        """Print a report: as one JSON document, or one aligned line for each value."""
        self.print_json(values) if json else self.print_counts(values)

    def print_json(self, value: Any) -> None:
        """Print one JSON document on standard output."""
        self.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, cls=DjangoJSONEncoder))

    def print_counts(self, counts: Mapping[str, Any]) -> None:
        """Print one aligned line for each count."""
        for name, value in counts.items():
            self.stdout.write(f"{name.replace('_', ' '):>18}  {_formatted(value)}".rstrip())


def add_project_argument(parser: CommandParser) -> None:
    parser.add_argument("project", metavar="T/P", help="tenant-slug/project-slug")


def add_file_arguments(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", type=readable_path, help="JSON Lines in UTF-8; - reads standard input")
    parser.add_argument("--transcript", action="store_true", help=TRANSCRIPT_HELP)


def add_number_argument(
    parser: CommandParser, name: str, low: int, high: int, *, unit: str, help: str, metavar: str | None = None
) -> None:
    parser.add_argument(name, metavar=metavar or unit.upper(), type=whole_number(low, high, unit), help=help)


def add_viewer_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--viewer", metavar="PERSON", default="", help="as this member of the project, with what is for them alone"
    )


def find_asker(project: Project, name: str) -> Asker:
    """The project member with this user name; ``ANYBODY`` if the name is empty."""
    user = User.objects.filter(username=name).first() if name else None
    asker = people.enter_as(project, user) if user else ANYBODY
    if name and not asker.person:
        raise CommandError(f"The project has no member “{printable(name)}”.", returncode=USAGE_EXIT_CODE)
    return asker


def find_project(path: str) -> Project:
    """Find the project ``tenant/project`` and enter its bank and tenant. An error says which of the two is unknown."""
    tenant, slash, _ = path.partition("/")
    if not slash:
        raise CommandError(f"“{path}” is not of the form tenant/project.", returncode=USAGE_EXIT_CODE)
    if not Tenant.objects.filter(slug=tenant).exists():
        raise CommandError(f"There is no tenant “{tenant}”.", returncode=USAGE_EXIT_CODE)
    project = Project.objects.at(path).select_related("tenant", "bank").first()
    if project is None:
        raise CommandError(f"Tenant “{tenant}” has no project “{path.partition('/')[2]}”.", returncode=USAGE_EXIT_CODE)
    services.enter(project.bank_id, owners=[project.tenant_id])
    return project


def parse_time(text: str) -> datetime:
    """An ISO 8601 time with a zone, for argparse."""
    try:
        parsed = parse_datetime(text)
    except ValueError:
        parsed = None
    if parsed is None or is_naive(parsed):
        raise ArgumentTypeError(f"“{text[:40]}” is not an ISO 8601 time with a zone, like 2026-05-08T13:56:00Z")
    if not 1970 <= parsed.year < 3000:  # so that no date arithmetic overflows
        raise ArgumentTypeError(f"“{text[:40]}” is not between the years 1970 and 2999")
    return parsed.astimezone(UTC)  # PostgreSQL refuses offsets such as +23:59


def parse_duration(text: str) -> timedelta:
    """A duration such as 30m, 6h or 1d, for argparse."""
    units = {"m": "minutes", "h": "hours", "d": "days"}
    number, unit = text[:-1], text[-1:]
    if unit not in units or not number.isascii() or not number.isdigit() or int(number) == 0:
        raise ArgumentTypeError(f"“{text}” is not a duration such as 30m, 6h or 1d")
    if len(number) > 6:
        raise ArgumentTypeError(f"“{text[:40]}” is too long")
    return timedelta(**{units[unit]: int(number)})


def row_id_argument(text: str) -> int:
    """The primary key that a public id stands for, for argparse."""
    try:
        return PublicId().to_python(text)
    except ValueError:
        raise ArgumentTypeError(f"“{text[:40]}” is not a public id, such as p3zkqv5q7h2fy") from None


def whole_number(low: int, high: int, what: str) -> Callable[[str], int]:
    """A parser of whole numbers from ``low`` to ``high``, for argparse; ``what`` names them."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):
            raise ArgumentTypeError(f"“{text[:40]}” is not a number of {what} from {low} to {high:,}")
        return int(text)

    return parse


def readable_path(path: str) -> str:
    """Check that a file can be read, and return its path, for argparse; ``-`` stands for standard input."""
    try:
        if path != "-":
            open_lines(path).close()
    except OSError as error:
        raise ArgumentTypeError(f"{path}: {error.strerror}") from error
    return path


def open_lines(path: str) -> TextIOWrapper:
    """Open a UTF-8 file. Invalid bytes are decoded as lone surrogates, so that their line can be reported."""
    if path == "-":
        return TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", errors="surrogateescape")
    return open(path, encoding="utf-8-sig", errors="surrogateescape")


def pluralised(number: int, noun: str) -> str:
    """Such as “1 chat” or “1,200 chats”."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _formatted(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else printable(str(value), 2000)


def _explain_database_error(error: DatabaseError) -> str:
    message = str(error).splitlines()[0] if str(error) else type(error).__name__
    unknown = isinstance(error, ProgrammingError) and "does not exist" in message
    if unknown or "no such table" in message or "no such column" in message:
        return f"The database is not migrated ({message}). Run: python manage.py migrate"
    if "readonly" in message or "unable to open" in message:
        return f"The database {connection.settings_dict['NAME']} cannot be written: {message}. Check DATA_DIR."
    return f"The database failed: {message}"

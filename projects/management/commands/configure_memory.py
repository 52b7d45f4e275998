"""Change a bank's settings from the shell."""

import re
from argparse import ArgumentTypeError
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memorybank import services
from memorybank.services import (
    MAX_IDLE_MINUTES,
    MAX_PERSONAL_TOKENS,
    MAX_RECALL_TOKENS,
    MAX_RETENTION_DAYS,
    MAX_TOKENS,
    MIN_TOKENS,
)

from ..base import (
    COMMAND_ACTOR,
    USAGE_EXIT_CODE,
    MemoryCommand,
    add_number_argument,
    add_project_argument,
    find_project,
)

BANK_FIELDS = {
    "budget": "max_tokens",
    "recall": "recall_tokens",
    "personal": "personal_tokens",
    "new_chats": "new_chats_private",
    "idle_minutes": "idle_minutes",
    "timezone": "timezone",
    "focus": "focus",
    "monthly_cap": "monthly_cap",
    "keep_turns": "keep_turns_days",
    "keep_memory": "keep_memory_days",
}


NEW_CHATS = {"private": True, "shared": False}
AMOUNT_PATTERN = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")
NO_CAP = Decimal(-1)


class Command(MemoryCommand):
    help = "Change the given memory settings, then print all of them."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        _add_switch(parser)
        budget_help = f"tokens of the block in every prompt, {MIN_TOKENS} to {MAX_TOKENS:,}"
        add_number_argument(parser, "--budget", MIN_TOKENS, MAX_TOKENS, unit="tokens", help=budget_help)
        recall_help = f"tokens of the notes for the newest message, at most {MAX_RECALL_TOKENS:,}; 0: none"
        add_number_argument(parser, "--recall", 0, MAX_RECALL_TOKENS, unit="tokens", help=recall_help)
        personal_help = f"tokens of the part that only the asking person gets, at most {MAX_PERSONAL_TOKENS:,}; 0: none"
        add_number_argument(parser, "--personal", 0, MAX_PERSONAL_TOKENS, unit="tokens", help=personal_help)
        parser.add_argument(
            "--new-chats",
            choices=list(NEW_CHATS),
            help="whether a new chat is for its author only, until they share it",
        )
        idle_help = f"minutes of silence before a chat is summarised, 1 to {MAX_IDLE_MINUTES:,}"
        add_number_argument(parser, "--idle-minutes", 1, MAX_IDLE_MINUTES, unit="minutes", help=idle_help, metavar="N")
        parser.add_argument("--timezone", metavar="TZ", help="where days begin and end, such as Europe/Berlin")
        parser.add_argument(
            "--focus", metavar="TEXT", help="what matters most, for the model that summarises; at most 1,000 characters"
        )
        parser.add_argument(
            "--monthly-cap",
            metavar="AMOUNT",
            type=_amount,
            help="monthly limit in the currency of the price settings, such as 25 or 0.50; “none”: no limit",
        )
        for name, what in (("turns", "the text of turns"), ("memory", "memory")):
            keep_help = f"delete {what} after this many days; 0: never"
            add_number_argument(parser, f"--keep-{name}", 0, MAX_RETENTION_DAYS, unit="days", help=keep_help)
        parser.add_argument("--json", action="store_true", help="print the settings as JSON")

    def handle(self, *, project: str, enable: bool | None, json: bool, preview: bool, **options: Any) -> None:
        bank = find_project(project).bank
        if preview:
            self.print_values(asdict(services.count_earlier_turns(bank)), json=json)
            return
        changes = {field: options[name] for name, field in BANK_FIELDS.items() if options[name] is not None}
        if changes.get("new_chats_private"):
            changes["new_chats_private"] = NEW_CHATS[changes["new_chats_private"]]
        if changes.get("monthly_cap") is NO_CAP:
            changes["monthly_cap"] = None
        changes |= {field: None for field in ("keep_turns_days", "keep_memory_days") if changes.get(field) == 0}
        if changes:
            services.configure(bank, actor=COMMAND_ACTOR, **changes)
        if enable:
            services.enable(bank, actor=COMMAND_ACTOR, disclosure_accepted=True, history=options["include_history"])
        elif options["include_history"]:
            raise CommandError("--include-history needs --enable.", returncode=USAGE_EXIT_CODE)
        if enable is False:
            services.disable(bank, actor=COMMAND_ACTOR)
        shown = {"enabled": bank.enabled, **{name: getattr(bank, field) for name, field in BANK_FIELDS.items()}}
        self.print_values(shown, json=json)


def _amount(text: str) -> Decimal:
    if text == "none":
        return NO_CAP
    if not AMOUNT_PATTERN.fullmatch(text):
        raise ArgumentTypeError(f"“{text[:40]}” is not an amount such as 25 or 0.50, nor “none”")
    return Decimal(text)


def _add_switch(parser: CommandParser) -> None:
    switch = parser.add_mutually_exclusive_group()
    switch.add_argument(
        "--enable",
        action="store_true",
        default=None,
        help="switch memory on for new messages. You accept the privacy disclosure: answers in the project use notes "
        "from everybody's chats",
    )
    parser.add_argument("--include-history", action="store_true", help="with --enable: also include earlier chats")
    parser.add_argument(
        "--preview",
        action="store_true",
        help="print what --include-history would add and an estimate of its cost; change nothing",
    )
    switch.add_argument(
        "--disable", dest="enable", action="store_false", help="switch memory off; existing memory stays"
    )

"""Run the demo: create the database, replay the sample, print a block, serve the site."""

import sys
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from memorybank import llm, services
from memorybank.services import Bank
from projects.importing import demo
from projects.importing.jsonl import ImportLine
from projects.web import supervisor

from ..base import USAGE_EXIT_CODE, MemoryCommand
from ..progress import replay_with_progress_bar

DEMO_PROJECT = "northwind-clinics/billing-migration"
DEMO_QUESTION = "Who is our contact at Paywright?"


class Command(MemoryCommand):
    help = (
        "Prepare the database, replay four months of sample chats of two tenants on a simulated clock, print a memory "
        "block and its cost, then serve the site with worker and beat. A second run changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-serve", action="store_true", help="do everything but serve")
        parser.add_argument(
            "--address",
            metavar="HOST:PORT",
            default="127.0.0.1:8000",
            help="where to serve (default: %(default)s); the demo's passwords are public, so keep it on this machine",
        )

        parser.add_argument(
            "--extractive",
            action="store_true",
            help="make memory without any model; by default, your summary model writes it or, if you have not "
            "configured one, recorded answers of a large model do",
        )

    def handle(self, *, no_serve: bool, address: str, extractive: bool, **options: Any) -> None:
        _require_own_machine(address)
        call_command("migrate", verbosity=0)
        lines = demo.load_sample()
        demo.create_people(lines)
        if demo.is_loaded(lines):
            self.stdout.write("The sample is loaded already.")
        else:
            self._replay(lines, extractive=extractive)
        self._show(lines)
        self._say_how_to_log_in(address)
        if not no_serve:
            sys.exit(supervisor.serve(address))

    def _replay(self, lines: list[ImportLine], *, extractive: bool) -> None:
        model = None if extractive else llm.get("summary") or demo.recorded_model()
        writer = model.model if model else "none: memory quotes the chats"
        self.stdout.write(f"Replaying {len(lines)} turns of four months on a simulated clock …\nModel: {writer}")
        with llm.using("summary", model):
            counts = replay_with_progress_bar(lines, step=demo.REPLAY_STEP, prepare=demo.prepare)
            if model:
                counts = counts + demo.catch_up()
        self.print_counts(counts.as_dict())

    def _show(self, lines: list[ImportLine]) -> None:
        projects = {project.path: project for project in demo.sample_projects(lines)}
        # The same call that chats use.
        memory = services.prompt_memory(projects[DEMO_PROJECT].bank, question=DEMO_QUESTION)
        self.stdout.write(f"\nMemory in every new chat of {DEMO_PROJECT}:\n")
        self.stdout.write(f"{memory.block.text}\n")
        self.stdout.write(f"Notes for the message “{DEMO_QUESTION}” only:\n")
        self.stdout.write(f"{memory.recalled.text}\n")
        for path, project in projects.items():
            self.stdout.write(f"{path}: {self._in_numbers(project.bank)}")

    def _in_numbers(self, bank: Bank) -> str:
        counts, block = services.statistics(bank), services.prompt_memory(bank).block
        return (
            f"{counts.outputs} turns in {counts.chats} chats → {counts.facts} facts; "
            f"{block.tokens:,} of {bank.max_tokens:,} tokens; {counts.llm_calls} model calls"
        )

    def _say_how_to_log_in(self, address: str) -> None:
        self.stdout.write(f"\nChat   http://{address}/\nAdmin  http://{address}/admin/\n")
        self.stdout.write(f"Log in with the password “{demo.DEMO_PASSWORD}” as")
        self.stdout.write("  admin       may do everything in the admin")
        for person in demo.DEMO_PEOPLE:
            self.stdout.write(f"  {person.username:<11} {person.what}")
        self.stdout.write("  or as any other author of a chat, such as marta or kenji")


def _require_own_machine(address: str) -> None:
    """The demo's passwords are public."""
    host = address.rpartition(":")[0].strip("[]")
    if host not in ("127.0.0.1", "localhost", "::1"):
        why = "is not on this machine, and the demo's passwords are public."
        raise CommandError(f"--address: “{address}” {why}", returncode=USAGE_EXIT_CODE)
    if not settings.DEBUG:
        why = "The demo's passwords are public, so it creates nobody with DEBUG off."
        raise CommandError(why, returncode=USAGE_EXIT_CODE)

"""Run the demo: create the database, replay the sample, serve the site, and print its URLs."""

import sys
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from memorybank import llm, services
from memorybank.services import Bank
from projects.importing import demo
from projects.importing.jsonl import ImportLine
from projects.management import supervisor

from ..base import FAILURE_EXIT_CODE, USAGE_EXIT_CODE, MemoryCommand
from ..progress import replay_with_progress_bar

DEMO_PROJECT = "northwind-clinics/billing-migration"
DEMO_QUESTION = "Who is our contact at Paywright?"
NO_MODEL = """No model is connected: a guide shows what memory finds. To connect one:
LLM_BASE_URL=http://127.0.0.1:11434/v1 LLM_MODEL=llama3.2 make demo"""


class Command(MemoryCommand):
    help = (
        "Prepare the database, replay four months of sample chats of two tenants on a simulated clock, then serve the "
        "site with worker and beat. A second run changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-serve", action="store_true", help="do everything but serve")
        parser.add_argument(
            "--print-block", action="store_true", help="print the memory of a new chat, and the notes for a question"
        )
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

    def handle(self, *, no_serve: bool, address: str, extractive: bool, print_block: bool, **options: Any) -> None:
        _require_own_machine(address)
        if not no_serve and supervisor.is_taken(address):
            raise CommandError(
                f"--address: {address} is in use. Try --address 127.0.0.1:8080.", returncode=FAILURE_EXIT_CODE
            )
        call_command("migrate", verbosity=0)
        lines = demo.load_sample()
        demo.create_people(lines)
        if demo.is_loaded(lines):
            self.stdout.write("The sample is loaded already.")
        else:
            self._replay(lines, extractive=extractive)
        demo.ask_questions()
        projects = {project.path: project for project in demo.sample_projects(lines)}
        if print_block:
            self._print_block(projects[DEMO_PROJECT].bank)
        for path, project in projects.items():
            self.stdout.write(f"{path}: {self._in_numbers(project.bank)}")
        box = _box(address, writer=llm.get("chat"))
        if no_serve:
            self._print(box)
        else:  # print the box last, below the startup messages of the servers
            sys.exit(supervisor.serve(address, when_up=lambda: self._print(box)))

    def _replay(self, lines: list[ImportLine], *, extractive: bool) -> None:
        model = None if extractive else llm.get("summary") or demo.recorded_model()
        writer = model.model if model else "none: memory quotes the chats"
        self._print(f"Replaying {len(lines)} turns of four months on a simulated clock …\nModel: {writer}")
        with llm.using("summary", model):
            counts = replay_with_progress_bar(
                lines, step=demo.REPLAY_STEP, prepare=demo.prepare, without_terminal=self._print
            )
            if model:
                counts = counts + demo.catch_up()
        self.print_counts(counts.as_dict())

    def _print(self, text: str) -> None:
        """Print without delay: output that does not go to a terminal is buffered."""
        self.stdout.write(text)
        self.stdout.flush()

    def _print_block(self, bank: Bank) -> None:
        memory = services.prompt_memory(bank, question=DEMO_QUESTION)  # the same call that chats use
        self.stdout.write(f"\nMemory in every new chat of {DEMO_PROJECT}:\n")
        self.stdout.write(f"{memory.block.text}\n")
        self.stdout.write(f"Notes for the message “{DEMO_QUESTION}” only:\n")
        self.stdout.write(f"{memory.recalled.text}\n")

    def _in_numbers(self, bank: Bank) -> str:
        counts, block = services.statistics(bank), services.prompt_memory(bank).block
        return (
            f"{counts.outputs} turns in {counts.chats} chats → {counts.facts} facts; "
            f"{block.tokens:,} of {bank.max_tokens:,} tokens; {counts.llm_calls} model calls"
        )


def _box(address: str, *, writer: llm.LLM | None) -> str:
    """The box to print: the site's URLs, the users who can log in, and the model that answers."""
    site = f"http://{address}"
    people = [f"  {person.username:<11} {person.what}" for person in demo.DEMO_PEOPLE]
    answers = f"Chats are answered by {writer.model}." if writer else NO_MODEL
    rows = [
        f"Memory Bank: {site}/      (stop it with Ctrl-C)",
        "",
        f"Sign in with the password “{demo.DEMO_PASSWORD}” as",
        *people,
        "  admin       may do everything in the admin",
        "  or any other author of a chat, such as marta or kenji",
        "",
        f"Memory  {site}/p/{DEMO_PROJECT}/memory/",
        f"Ask     “{DEMO_QUESTION}” in a new chat there",
        f"Costs   {site}/p/{DEMO_PROJECT}/settings/costs",
        "",
        *answers.split("\n"),
    ]
    width = max(map(len, rows))
    body = "".join(f"│ {row:<{width}} │\n" for row in rows)
    return f"\n┌{'─' * (width + 2)}┐\n{body}└{'─' * (width + 2)}┘"


def _require_own_machine(address: str) -> None:
    """Refuse an address on the network, or DEBUG off, because the demo's passwords are public."""
    host = address.rpartition(":")[0].strip("[]")
    if host not in ("127.0.0.1", "localhost", "::1"):
        why = "is not on this machine, and the demo's passwords are public."
        raise CommandError(f"--address: “{address}” {why}", returncode=USAGE_EXIT_CODE)
    if not settings.DEBUG:
        why = "The demo's passwords are public, so it creates nobody with DEBUG off."
        raise CommandError(why, returncode=USAGE_EXIT_CODE)

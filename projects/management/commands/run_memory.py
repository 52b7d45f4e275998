"""Run the work of beat and worker in the foreground."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from tqdm import tqdm

from memorybank import services
from memorybank.services import Bank, Chat, Job, LLMEndpoint, RunReport

from ..base import (
    COMMAND_ACTOR,
    FAILURE_EXIT_CODE,
    USAGE_EXIT_CODE,
    MemoryCommand,
    find_project,
    parse_time,
    pluralised,
)


class Command(MemoryCommand):
    help = (
        "Summarise idle chats and roll up closed periods once, in the foreground, as beat and worker would. "
        "Prints the work done and its cost. Exits with 1 if something failed, or waits for a model that is down. With "
        "--chat, prints when that chat will be due. --force, --rebuild and --retry-parked start work in one project "
        "that would otherwise wait."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="T/P", nargs="?", help="only this project (tenant-slug/project-slug)")
        parser.add_argument("--project", metavar="T/P", help="the same")
        parser.add_argument("--chat", metavar="K", help="print when this chat of the project will be due")
        parser.add_argument(
            "--force",
            action="store_true",
            help="summarise the chat now, even if it is active or parked; without --chat, all pending chats",
        )
        parser.add_argument("--rebuild", action="store_true", help="rebuild its digests; lines written by people stay")
        parser.add_argument("--retry-parked", action="store_true", help="try its parked chats again")
        parser.add_argument(
            "--until-idle", action="store_true", help="continue until no work is left that can be done now"
        )
        parser.add_argument(
            "--now",
            metavar="ISO",
            type=parse_time,
            help="use this time, such as 2026-05-08T13:56:00Z, as the present for idleness, ages, back-off and leases",
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *, path: str | None, project: str | None, chat: str | None, force: bool, **options: Any) -> None:
        project_path, now = path or project, options["now"]
        wanted = _requested_jobs(force=force and not chat, **options)
        if (path and project) or ((chat or force or wanted) and not project_path) or (chat and wanted):
            usage = "Name one project, and either --chat or the work to do in it."
            raise CommandError(usage, returncode=USAGE_EXIT_CODE)
        bank = find_project(project_path).bank if project_path else None
        if bank and chat:
            self._run_chat(_find_chat(bank, chat), force=force, now=now or timezone.now(), json=options["json"])
            return
        for kind in wanted:
            assert bank
            services.request_job(bank, kind, actor=COMMAND_ACTOR, now=now or timezone.now())
        self._run_all(bank, until_idle=options["until_idle"] or bool(wanted), now=now, json=options["json"])

    def _run_all(self, bank: Bank | None, *, until_idle: bool, now: datetime | None, json: bool) -> None:
        with tqdm(unit=" entries", disable=None, leave=False) as bar:

            def progress(report: RunReport) -> None:
                bar.update(report.summarised + report.rolled_up - bar.n)

            report = services.run(bank=bank, until_idle=until_idle, now=now, progress=progress)
        self.print_values(report.as_dict(), json=json)
        _fail_if_unfinished(
            report, report.due + services.count_failing_chats(bank), services.current_outage(now=now or timezone.now())
        )

    def _run_chat(self, chat: Chat, *, force: bool, now: datetime, json: bool) -> None:
        if force and not _why_never_due(chat):
            report = services.summarise_now(chat.bank, chat_key=chat.key, now=now)
            self.print_values(report.as_dict(), json=json)
            return
        why = _why_never_due(chat) or _due_text(chat, now)
        values = {"chat": chat.key, "pending": chat.pending_outputs, "due_at": chat.due_at, "why": why}
        self.print_json(values) if json else self.stdout.write(f"Chat {chat.key}: {why}")
        if force:
            raise CommandError("Nothing was summarised.", returncode=FAILURE_EXIT_CODE)


def _requested_jobs(*, force: bool, rebuild: bool, retry_parked: bool, **_: Any) -> list[Job.Kind]:
    """The jobs to start for a whole project, in this order."""
    requested = {Job.Kind.RETRY: retry_parked, Job.Kind.SUMMARISE: force, Job.Kind.REBUILD: rebuild}
    return [kind for kind, wanted in requested.items() if wanted]


def _find_chat(bank: Bank, key: str) -> Chat:
    chat = services.chats_of(bank).filter(key=key).first()
    if chat is None:
        raise CommandError(f"The project has no chat “{key}”.", returncode=USAGE_EXIT_CODE)
    return chat


def _why_never_due(chat: Chat) -> str:
    """Why the chat can never be due; "" if it can."""
    if not chat.bank.enabled:
        return "never due, because memory is off."
    if chat.private:
        return "never due, because it is private."
    if not (chat.pending_outputs or chat.stale):
        return "due when somebody writes in it; nothing is pending."
    return ""


def _due_text(chat: Chat, now: datetime) -> str:
    if chat.due_at is None:
        return f"parked after {pluralised(chat.attempts, 'attempt')}, until it is retried: {chat.last_error}"
    if chat.due_at > now:
        return f"due at {chat.due_at:%Y-%m-%dT%H:%M:%SZ}, with {pluralised(chat.pending_outputs, 'turn')} pending."
    outage = services.current_outage(now=now)
    return f"due, and waiting for the model: {outage.last_error}" if outage else "due; the next sweep summarises it."


def _fail_if_unfinished(report: RunReport, waiting: int, outage: LLMEndpoint | None) -> None:
    """Exit with 1 if something failed, or waits for a model that is down."""
    if report.failed:
        why = f": {outage.last_error}" if outage else " (see the log)."
        raise CommandError(f"{report.failed:,} failed and will be tried again{why}", returncode=FAILURE_EXIT_CODE)
    if outage and outage.retry_at and waiting:
        until = outage.retry_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        why = f"the model backs off until {until} after: {outage.last_error}"
        raise CommandError(f"{pluralised(waiting, 'chat')} waiting, because {why}", returncode=FAILURE_EXIT_CODE)

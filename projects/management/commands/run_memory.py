"""Do in the foreground what beat and worker do."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from tqdm import tqdm

from memorybank import services
from memorybank.services import Bank, Chat, Job, LLMEndpoint, RunReport

from ..base import ACTOR, FAILED, USAGE, MemoryCommand, counted, find_project, moment


class Command(MemoryCommand):
    help = (
        "Summarise idle chats and roll up closed periods once, in the foreground, as beat and worker would. "
        "Prints what was done and what it cost. Exits with 1 if something failed, or waits for a model that is down. "
        "With --chat it says when that chat will be due. In one project, --force, --rebuild and --retry-parked do now "
        "what waits or would stay as it is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="T/P", nargs="?", help="only this project (tenant-slug/project-slug)")
        parser.add_argument("--project", metavar="T/P", help="the same")
        parser.add_argument("--chat", metavar="K", help="only this chat of the project: when will it be due?")
        parser.add_argument(
            "--force",
            action="store_true",
            help="summarise the chat now, idle, parked or not; without --chat, all that wait",
        )
        parser.add_argument("--rebuild", action="store_true", help="make its digests anew; what people wrote stays")
        parser.add_argument("--retry-parked", action="store_true", help="try its parked chats again")
        parser.add_argument("--until-idle", action="store_true", help="go on until nothing more can be done now")
        parser.add_argument(
            "--now",
            metavar="ISO",
            type=moment,
            help="pretend that it is this time, such as 2026-05-08T13:56:00Z; governs idleness, ages, back-off, leases",
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *, path: str | None, project: str | None, chat: str | None, force: bool, **options: Any) -> None:
        where, now, wanted = path or project, options["now"], _wanted(force=force and not chat, **options)
        if (path and project) or ((chat or force or wanted) and not where) or (chat and wanted):
            alone = "Name one project, with --chat or with what is to be done in it."
            raise CommandError(alone, returncode=USAGE)
        bank = find_project(where).bank if where else None
        if bank and chat:
            self._of_one(_find_chat(bank, chat), force=force, now=now or timezone.now(), json=options["json"])
            return
        for kind in wanted:
            services.request_job(find_project(str(where)).bank, kind, actor=ACTOR, now=now or timezone.now())
        self._of_all(bank, until_idle=options["until_idle"] or bool(wanted), now=now, json=options["json"])

    def _of_all(self, bank: Bank | None, *, until_idle: bool, now: datetime | None, json: bool) -> None:
        with tqdm(unit=" entries", disable=None, leave=False) as bar:

            def progress(report: RunReport) -> None:
                bar.update(report.summarised + report.rolled_up - bar.n)

            report = services.run(bank=bank, until_idle=until_idle, now=now, progress=progress)
        self.print_json(report.as_dict()) if json else self.print_counts(report.as_dict())
        _complain(report, report.due + services.failing(bank), services.outage(now=now or timezone.now()))

    def _of_one(self, chat: Chat, *, force: bool, now: datetime, json: bool) -> None:
        if force and not _never(chat):
            report = services.summarise_now(chat.bank, chat_key=chat.key, now=now)
            self.print_json(report.as_dict()) if json else self.print_counts(report.as_dict())
            return
        why = _never(chat) or _when(chat, now)
        said = {"chat": chat.key, "pending": chat.pending_outputs, "due_at": chat.due_at, "why": why}
        self.print_json(said) if json else self.stdout.write(f"Chat {chat.key}: {why}")
        if force:
            raise CommandError("Nothing was summarised.", returncode=FAILED)


def _wanted(*, force: bool, rebuild: bool, retry_parked: bool, **_: Any) -> list[Job.Kind]:
    """What is to be done at once in a whole project, in this order."""
    asked = {Job.Kind.RETRY: retry_parked, Job.Kind.SUMMARISE: force, Job.Kind.REBUILD: rebuild}
    return [kind for kind, wanted in asked.items() if wanted]


def _find_chat(bank: Bank, key: str) -> Chat:
    chat = services.chats_of(bank).filter(key=key).first()
    if chat is None:
        raise CommandError(f"The project has no chat “{key}”.", returncode=USAGE)
    return chat


def _never(chat: Chat) -> str:
    """Why it is not summarised, whoever asks; "" if it would be."""
    if not chat.bank.enabled:
        return "never due, because memory is off."
    if chat.private:
        return "never due, because it is private."
    if not (chat.pending_outputs or chat.stale):
        return "due when somebody writes in it; nothing waits."
    return ""


def _when(chat: Chat, now: datetime) -> str:
    if chat.due_at is None:
        return f"parked after {counted(chat.attempts, 'attempt')}, until somebody retries it: {chat.last_error}"
    if chat.due_at > now:
        return f"due at {chat.due_at:%Y-%m-%dT%H:%M:%SZ}, with {counted(chat.pending_outputs, 'turn')} waiting."
    outage = services.outage(now=now)
    return f"due, and waiting for the model: {outage.last_error}" if outage else "due; the next sweep takes it."


def _complain(report: RunReport, waiting: int, outage: LLMEndpoint | None) -> None:
    """Fail in one line if something failed, or waits for a model that is down."""
    if report.failed:
        why = f": {outage.last_error}" if outage else " (the log says why)."
        raise CommandError(f"{report.failed:,} failed and will be tried again{why}", returncode=FAILED)
    if outage and outage.retry_at and waiting:
        until = outage.retry_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        why = f"the model backs off until {until} after: {outage.last_error}"
        raise CommandError(f"{counted(waiting, 'chat')} waiting, because {why}", returncode=FAILED)

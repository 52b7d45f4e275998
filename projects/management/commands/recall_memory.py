"""Ask a project's memory a question."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from memorybank import services
from memorybank.services import Hit

from ..base import (
    USAGE_EXIT_CODE,
    MemoryCommand,
    add_project_argument,
    add_viewer_argument,
    find_asker,
    find_project,
    whole_number,
)

MAX_COMMAND_HITS = 200


class Command(MemoryCommand):
    help = "Print the turns and facts of a project that answer a question, best first."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        add_viewer_argument(parser)
        parser.add_argument("question", metavar="QUESTION", help="in any wording; dates in it are taken into account")
        parser.add_argument(
            "--top",
            metavar="K",
            type=whole_number(1, MAX_COMMAND_HITS, "hits"),
            default=10,
            help=f"number of hits, 1 to {MAX_COMMAND_HITS} (default 10)",
        )
        parser.add_argument(
            "--exclude-chat", metavar="KEY", default="", help="leave out the turns of the chat with this key"
        )
        parser.add_argument("--json", action="store_true", help="print the hits as JSON")

    def handle(self, *, project: str, question: str, top: int, json: bool, **options: Any) -> None:
        target = find_project(project)
        bank = target.bank
        if not question.strip():
            raise CommandError("QUESTION: must not be empty.", returncode=USAGE_EXIT_CODE)
        services.reindex(bank)
        viewer = find_asker(target, options["viewer"]).person
        hits = services.recall(bank, question, top=top, exclude_chat=options["exclude_chat"], viewer=viewer)
        if json:
            self.print_json({"hits": [_hit_json(hit) for hit in hits]})
            return
        for hit in hits:
            shown = services.as_shown(hit.speaker, hit.text, is_report=hit.is_report)
            text = shown.replace("\n", "\n" + " " * 8)
            row = f"{hit.kind} {services.public_id(hit.pk)}"
            self.stdout.write(f"{hit.score:6.2f}  {row} of chat {hit.chat}, {hit.created_at:%d %b %Y}")
            self.stdout.write(f"        {text}")
        why = "" if bank.enabled else " Memory is off: nothing is recalled."
        self.stderr.write(f"{len(hits)} hit{'' if len(hits) == 1 else 's'}.{why}")


def _hit_json(hit: Hit) -> dict[str, Any]:
    names = ("kind", "chat", "text", "speaker", "score")
    shown = {name: getattr(hit, name) for name in names}
    return shown | {"reported": hit.is_report, "created_at": hit.created_at.isoformat()}

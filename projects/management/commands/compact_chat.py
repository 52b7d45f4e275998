"""Compact a chat's prompt, like ``/compact`` in the chat."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from tqdm import tqdm

from memorybank import services
from memorybank.services import Checkpoint
from projects.chat import compaction

from ..base import MemoryCommand, add_project_argument, find_project

#: The fields that are printed as JSON.
CHECKPOINT_FIELDS = ("tokens_before", "tokens_after", "method", "through", "text")


class Command(MemoryCommand):
    help = (
        "Replace a chat's earlier turns by a checkpoint, in the prompts of this chat alone: goal, constraints, "
        "progress, decisions, next steps, context, and the newest messages word for word. The chat's own model writes "
        "it; without a model, it is made of the chat's sentences. The turns stay stored. Prints the checkpoint exactly "
        "as the model gets it, and the tokens before and after."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument("--chat", metavar="KEY", required=True, help="the chat with this key")
        parser.add_argument("--focus", metavar="TEXT", default="", help="what matters most")
        parser.add_argument("--harder", action="store_true", help="keep half as much of the newest messages")
        parser.add_argument("--json", action="store_true", help="print the same as JSON")

    def handle(self, *, project: str, chat: str, focus: str, harder: bool, json: bool, **options: Any) -> None:
        bank = find_project(project).bank
        with tqdm(total=100, unit=" %", disable=None, leave=False) as bar:
            checkpoint = services.compact_chat(
                bank,
                chat_key=chat,
                window=settings.LLM_CONTEXT_TOKENS,
                focus=focus,
                harder=harder,
                for_others=compaction.is_of_programs(bank, chat),
                progress=lambda step: bar.update(step.percent - bar.n),
            )
        self.print_json({name: getattr(checkpoint, name) for name in CHECKPOINT_FIELDS}) if json else self._print(
            checkpoint
        )

    def _print(self, checkpoint: Checkpoint) -> None:
        self.stdout.write(checkpoint.text)
        self.stderr.write(f"{checkpoint.tokens_before:,} → {checkpoint.tokens_after:,} tokens ({checkpoint.method}).")

"""Shorten a chat for its own prompt, as ``/compact`` does in it."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from tqdm import tqdm

from memorybank import services
from memorybank.services import Checkpoint

from ..base import MemoryCommand, add_project_argument, find_project

#: What is told of a checkpoint.
TOLD = ("tokens_before", "tokens_after", "method", "through", "text")


class Command(MemoryCommand):
    help = (
        "Put a checkpoint in the place of a chat's earlier turns, in the prompts of this chat alone: goal, "
        "constraints, progress, decisions, next steps, context, and the newest of what was written, word for word. By "
        "the chat's own model; without one, of sentences that were said. The turns stay. Prints the checkpoint as the "
        "model is sent it, and the tokens before and after."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument("--chat", metavar="KEY", required=True, help="the chat with this key")
        parser.add_argument("--focus", metavar="TEXT", default="", help="what matters most")
        parser.add_argument("--harder", action="store_true", help="keep half as much")
        parser.add_argument("--json", action="store_true", help="print the same as JSON")

    def handle(self, *, project: str, chat: str, focus: str, harder: bool, json: bool, **options: Any) -> None:
        bank = find_project(project).bank
        with tqdm(total=100, unit=" %", disable=None, leave=False) as bar:
            made = services.compact_chat(
                bank,
                chat_key=chat,
                window=settings.LLM_CONTEXT_TOKENS,
                focus=focus,
                harder=harder,
                progress=lambda step: bar.update(step.percent - bar.n),
            )
        self.print_json({name: getattr(made, name) for name in TOLD}) if json else self._print(made)

    def _print(self, made: Checkpoint) -> None:
        self.stdout.write(made.text)
        self.stderr.write(f"{made.tokens_before:,} → {made.tokens_after:,} tokens ({made.method}).")

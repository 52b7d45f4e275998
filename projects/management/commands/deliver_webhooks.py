"""Deliver the webhook messages that are due."""

from typing import Any

from django.utils import timezone

from projects.webhooks.delivering import deliver_due

from ..base import MemoryCommand, pluralised


class Command(MemoryCommand):
    help = "Send the messages of webhooks that are due, as a worker does."

    def handle(self, **options: Any) -> None:
        sent = 0
        while tried := deliver_due(timezone.now()):
            sent += tried
        self.stdout.write(f"{pluralised(sent, 'message')} sent or put off.")

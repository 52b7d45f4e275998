"""Delete what serves nobody any more and holds no words: sessions, statistics, repetitions, ids of upstreams."""

from typing import Any

from django.utils import timezone

from projects.management.tasks import delete_expired

from ..base import MemoryCommand, pluralised


class Command(MemoryCommand):
    help = "Delete ended sessions, old statistics, API repetitions and upstream ids, as a worker does each day."

    def handle(self, **options: Any) -> None:
        deleted = delete_expired(timezone.now())
        self.stdout.write(f"Deleted ended sessions and {pluralised(deleted, 'row')} of statistics.")

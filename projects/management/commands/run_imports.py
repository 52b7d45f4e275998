"""Run the imports that users started on the import page."""

from typing import Any

from projects.importing import runs
from projects.models import ImportRun

from ..base import MemoryCommand


class Command(MemoryCommand):
    help = "Import the exports that somebody started on the site, as a worker does."

    def handle(self, **options: Any) -> None:
        runs.work()
        left = ImportRun.objects.unfinished().exists()
        self.stdout.write("Another process is importing." if left else "Nothing is left to import.")

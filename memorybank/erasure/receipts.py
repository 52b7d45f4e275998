"""The receipt of an erasure: how much was deleted and what will be rebuilt, never the erased text."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import ngettext_lazy

from memorybank.data_inventory import TABLES

#: Labels for the counts of what will be rebuilt.
REBUILT_COUNTS: Mapping[str, Promise] = {
    "blocks": ngettext_lazy("version of the project's memory", "versions of the project's memory"),
    "summaries_to_mend": ngettext_lazy("summary of a chat", "summaries of chats"),
    "digests_to_mend": ngettext_lazy("summary of a period", "summaries of periods"),
    "calls": ngettext_lazy("call of the model, about", "calls of the model, about"),
}


def erased_counts() -> dict[str, Promise]:
    """Labels for the counts of what is deleted, in the order of the tables."""
    return {name: words for table in TABLES for name, words in table.counts.items()}


def count_names() -> list[str]:
    """The names of all counts in a receipt: what is deleted, then what will be rebuilt."""
    return [*erased_counts(), *REBUILT_COUNTS]


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """The counts of an erasure or its dry run. ``epoch`` is the new epoch of the bank; ``calls`` is an estimate."""

    id: int | None
    kind: str
    asked_by: str
    at: datetime
    epoch: int
    dry_run: bool
    counts: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """The fields and all counts, including zeros, for ``--json`` and for pages."""
        named = {name: getattr(self, name) for name in ("id", "kind", "asked_by", "at", "epoch", "dry_run")}
        return {**named, **{name: self.counts.get(name, 0) for name in count_names()}}

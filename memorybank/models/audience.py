"""Audiences: who may read the memory of a chat. Every query of a table with chat text applies this rule.

Memory of a public chat may be read by everybody in the project, memory of a private chat only by its readers. The outer
app identifies readers by opaque keys. Digests belong to no chat and are public, because private chats never contribute
to them.
"""

from __future__ import annotations

from typing import ClassVar, Self, TypeVar

from django.db import models
from django.db.models import Exists, OuterRef, Q

#: An anonymous viewer, who may read public memory only.
NOBODY = ""

Row = TypeVar("Row", bound=models.Model)


class ChatReader(models.Model):
    """A person who may read the memory of a private chat."""

    # No separate index: the constraint's index starts with this column.
    chat = models.ForeignKey("Chat", models.CASCADE, related_name="readers", db_index=False)
    person = models.CharField(max_length=200)

    class Meta:
        constraints = [
            # A reader with two rows would be counted twice.
            models.UniqueConstraint(name="chat_reader_once", fields=["chat", "person"]),
            # The empty key is NOBODY, who may not read any private chat.
            models.CheckConstraint(name="chat_reader_not_empty", condition=~Q(person="")),
        ]
        indexes = [
            # Read by nearly every query for a person: the private chats that they may read.
            models.Index(name="chat_reader_person", fields=["person", "chat"]),
        ]

    def __str__(self) -> str:
        return f"reader of chat {self.chat_id}"


def read_by(person: str) -> models.QuerySet[ChatReader, int]:
    """The ids of the private chats that a person may read, or may have read before they were made public."""
    return ChatReader.objects.filter(person=person).values_list("chat_id", flat=True)


class PerRow(Exists):
    """Like ``Exists``, but looked up for each row that it is asked about.

    Without the offset PostgreSQL may instead collect the answers for all rows of the table, those of all banks, as soon
    as one row needs its own.
    """

    template = "EXISTS(%(subquery)s OFFSET 0)"  # the subquery ends in LIMIT 1


class ByAudience(models.QuerySet[Row]):
    """Rows that belong to a chat, or to none (digests); ``to_chat`` is the lookup from a row to its chat."""

    to_chat: ClassVar[str] = "chat"

    def visible_to(self, viewer: str = NOBODY) -> Self:
        """Rows that this person may read; without a person, rows that everybody may read."""
        return self.filter(
            ~self._private() | Q(**{f"{self.to_chat}__in": read_by(viewer)}) if viewer else ~self._private()
        )

    def restricted_to(self, viewer: str) -> Self:
        """Rows of private chats that this person may read."""
        return self.filter(self._private(), **{f"{self.to_chat}__in": read_by(viewer)})

    def _private(self) -> Q:
        return Q(**{"private" if self.to_chat == "pk" else f"{self.to_chat}__private": True})


def has_readers() -> PerRow:
    """A condition on chats: the chat has readers."""
    return PerRow(ChatReader.objects.filter(chat=OuterRef("pk")))

"""Audiences: who may read the memory of a chat. Every query of a table with chats' words applies this one rule.

Everybody in the project may read memory of a chat, unless it is private: then only its readers may, whom opaque keys of
the outer app identify. Digests belong to no chat and are for everybody, because no private chat is among their sources.
"""

from __future__ import annotations

from typing import ClassVar, Self, TypeVar

from django.db import models
from django.db.models import Exists, OuterRef, Q

#: The viewer who is no known person, and may read what everybody may.
NOBODY = ""

Row = TypeVar("Row", bound=models.Model)


class ChatReader(models.Model):
    """A person who may read the memory of a private chat."""

    # No index of its own: that of the constraint begins with it.
    chat = models.ForeignKey("Chat", models.CASCADE, related_name="readers", db_index=False)
    person = models.CharField(max_length=200)

    class Meta:
        constraints = [
            # A reader with two rows would be counted twice.
            models.UniqueConstraint(name="chat_reader_once", fields=["chat", "person"]),
            # The empty key is NOBODY, who reads no private chat.
            models.CheckConstraint(name="chat_reader_not_empty", condition=~Q(person="")),
        ]
        indexes = [
            # Read for everything that a person is shown: the private chats that they may read.
            models.Index(name="chat_reader_person", fields=["person", "chat"]),
        ]

    def __str__(self) -> str:
        return f"reader of chat {self.chat_id}"


def read_by(person: str) -> models.QuerySet[ChatReader, int]:
    """The ids of the private chats that a person may read, or may have read before they were made public."""
    return ChatReader.objects.filter(person=person).values_list("chat_id", flat=True)


class ByAudience(models.QuerySet[Row]):
    """Rows that belong to a chat (or, as digests, to none), with the lookups from the row to it."""

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


def has_readers() -> Exists:
    """A condition on chats: the chat has readers."""
    return Exists(ChatReader.objects.filter(chat=OuterRef("pk")))

"""Whose chat it is, and what its answers were given with."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F

from memorybank import services

from .project import Project


class ConversationQuerySet(models.QuerySet["Conversation"]):
    """Sets of conversations."""

    def of(self, owner: User, project: Project) -> ConversationQuerySet:
        """What ``owner`` wrote in ``project``, latest first; chats nobody wrote in yet come first."""
        mine = self.filter(owner=owner, chat__bank=project.bank_id).select_related("chat")
        return mine.order_by(F("chat__last_output_at").desc(nulls_first=True), "-pk")

    def saying(self, words: str) -> ConversationQuerySet:
        """Those with each of the words, or its beginning or end, in the title or in a turn; no words: all."""
        return self.filter(services.containing_words(words))


class Conversation(models.Model):
    """Whose chat it is. Memory is shared in a project, transcripts are not."""

    chat = models.OneToOneField("memorybank.Chat", models.CASCADE, related_name="conversation")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="conversations")

    objects: ClassVar[ConversationQuerySet] = ConversationQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return str(self.chat)


class GivenWith(models.Model):
    """What an answer was given with: counts and references, never text, so that erasure need not look here."""

    output = models.OneToOneField("memorybank.Output", models.CASCADE, related_name="given_with")
    memory_version = models.PositiveBigIntegerField(help_text="Which stored block; 0: none.")
    memory_tokens = models.PositiveIntegerField(help_text="Tokens of the block.")
    recalled_tokens = models.PositiveIntegerField(default=0, help_text="Tokens of the notes beside the message.")
    lines = models.JSONField(default=list, help_text="Of each line of the block the ids of the facts it stood for.")
    recalled = models.JSONField(default=list, help_text="Of each note its turn, by id, and the place in it.")
    prompt_tokens = models.PositiveIntegerField()
    answer_tokens = models.PositiveIntegerField(default=0)
    stopped = models.BooleanField(default=False, help_text="Somebody stopped it; it is what had come by then.")

    def __str__(self) -> str:
        return f"memory of output {self.output_id}"

"""Who owns a chat, and the context that each of its answers was given with."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F

from memorybank.services.chats import containing_words

from .project import Project


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def of(self, owner: User, project: Project) -> ConversationQuerySet:
        """The conversations of ``owner`` in ``project``, latest first; before them chats without a turn."""
        return self.filter(owner=owner, chat__bank=project.bank_id).select_related("chat").latest_first()

    def of_all(self, owner: User, projects: models.QuerySet[Project]) -> ConversationQuerySet:
        """The conversations of ``owner`` in any of the projects, with their projects, in the same order."""
        mine = self.filter(owner=owner, chat__bank__project__in=projects)
        return mine.select_related("chat__bank__project__tenant").latest_first()

    def latest_first(self) -> ConversationQuerySet:
        return self.order_by(F("chat__last_output_at").desc(nulls_first=True), "-pk")

    def saying(self, words: str) -> ConversationQuerySet:
        """Conversations with each of the words, or a part of it, in the title or in a turn; without words, all."""
        return self.filter(containing_words(words))


class Conversation(models.Model):
    """The owner of a chat. Memory is shared in a project, transcripts are not.

    It is created and deleted with the chat. If the owner's account was deleted, nobody may open the chat.
    """

    chat = models.OneToOneField("memorybank.Chat", models.CASCADE, related_name="conversation")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="conversations",
        help_text="Empty: the account has been deleted.",
    )

    objects: ClassVar[ConversationQuerySet] = ConversationQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return str(self.chat)


class AnswerContext(models.Model):
    """The memory and tokens behind an answer: counts and references, never text, so that erasure need not look here."""

    output = models.OneToOneField("memorybank.Output", models.CASCADE, related_name="answer_context")
    memory_version = models.PositiveBigIntegerField(help_text="Which stored block; 0: none.")
    memory_tokens = models.PositiveIntegerField(help_text="Tokens of the block.")
    recalled_tokens = models.PositiveIntegerField(default=0, help_text="Tokens of the notes beside the message.")
    lines = models.JSONField(default=list, help_text="Of each line of the block the ids of the facts it stood for.")
    recalled = models.JSONField(default=list, help_text="Of each note its turn, by id, and the place in it.")
    personal = models.JSONField(default=list, help_text="Of each line for the asker alone the id of its fact.")
    prompt_tokens = models.PositiveIntegerField()
    answer_tokens = models.PositiveIntegerField(default=0)
    stopped = models.BooleanField(default=False, help_text="Somebody stopped it; it is what had come by then.")

    def __str__(self) -> str:
        return f"context of output {self.output_id}"

"""The owner of a chat, and the context of each of its answers."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Count, F, OuterRef, Subquery

from memorybank.services.chats import containing_words, reader_count

from .project import Project


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def of(self, owner: User, project: Project) -> ConversationQuerySet:
        """The conversations of ``owner`` in ``project``, chats without a turn first, then the latest."""
        own = self.filter(owner=owner, chat__bank=project.bank_id).select_related("chat")
        return own.latest_first().with_reader_counts()

    def of_all(self, owner: User, projects: models.QuerySet[Project]) -> ConversationQuerySet:
        """The conversations of ``owner`` in any of the projects, with their projects, in the same order."""
        mine = self.filter(owner=owner, chat__bank__project__in=projects)
        return mine.select_related("chat__bank__project__tenant").latest_first().with_reader_counts()

    def count_in(self, bank: str) -> Subquery:
        """A subquery of how many there are whose chat has turns and is not private, for rows with a bank's id."""
        public = self.filter(chat__bank=OuterRef(bank), chat__private=False, chat__last_output_at__isnull=False)
        return Subquery(public.order_by().values("chat__bank").annotate(n=Count("pk")).values("n"))

    def with_reader_counts(self) -> ConversationQuerySet:
        """Add ``reader_count``: how many people may read what is remembered of a private chat."""
        return self.annotate(reader_count=reader_count("chat"))

    def latest_first(self) -> ConversationQuerySet:
        return self.order_by(F("chat__last_output_at").desc(nulls_first=True), "-pk")

    def saying(self, words: str) -> ConversationQuerySet:
        """Conversations with all words in the title or turns (parts of words match); no words match all."""
        return self.filter(containing_words(words))


class Conversation(models.Model):
    """The owner of a chat, and whether other members of the project may read it. Nobody else may write in it.

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

    shared_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when members of the project may read it; empty: they may not."
    )

    objects: ClassVar[ConversationQuerySet] = ConversationQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return str(self.chat)


class AnswerContext(models.Model):
    """The memory and tokens behind an answer: counts and references, no text, so erasure can ignore it."""

    output = models.OneToOneField("memorybank.Output", models.CASCADE, related_name="answer_context")
    memory_version = models.PositiveBigIntegerField(help_text="Which stored block; 0: none.")
    memory_tokens = models.PositiveIntegerField(help_text="Tokens of the block.")
    recalled_tokens = models.PositiveIntegerField(default=0, help_text="Tokens of the notes beside the message.")
    lines = models.JSONField(default=list, help_text="Of each line of the block the ids of the facts it stood for.")
    recalled = models.JSONField(default=list, help_text="Of each note its turn, by id, and the place in it.")
    personal = models.JSONField(default=list, help_text="Of each line for the asker alone the id of its fact.")
    cited = models.JSONField(default=list, help_text="Where its sentences end that use a line, and which of all lines.")
    model = models.CharField(max_length=200, blank=True, help_text="The model that answered.")
    prompt_tokens = models.PositiveIntegerField()
    answer_tokens = models.PositiveIntegerField(default=0)
    stopped = models.BooleanField(default=False, help_text="It was stopped; its text is the part received by then.")

    def __str__(self) -> str:
        return f"context of output {self.output_id}"

    @property
    def source_numbers(self) -> dict[int, int]:
        """The citation number of each cited line, by the line's place; numbered in order of appearance.

        A line's place is its index in ``lines``, ``personal`` and ``recalled`` together.
        """
        return {line: number for number, line in enumerate(dict.fromkeys(line for _, line in self.cited), start=1)}

    @property
    def marks(self) -> list[tuple[int, int]]:
        """The citations of the answer, as pairs (offset in the text, number of the source)."""
        numbers = self.source_numbers
        return [(offset, numbers[line]) for offset, line in self.cited]

"""Tables of the gateway: the upstream of each project, what that stores, and the nodes of recorded conversations."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from projects.web.providers import PROVIDERS

from .encryption import decrypt, encrypt
from .project import Project


class Upstream(models.Model):
    """The provider that the gateway forwards a project's requests to; one for each protocol."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="upstreams")
    protocol = models.CharField(max_length=10, choices=[(name, provider.label) for name, provider in PROVIDERS.items()])
    base_url = models.CharField(
        max_length=500,
        validators=[
            RegexValidator(r"^https?://[^/\s?#]+[^\s?#]*$", _("An address such as https://api.openai.com/v1."))
        ],
        help_text=_("As a client of that protocol takes it, such as https://api.openai.com/v1."),
    )
    sealed_key = models.TextField(blank=True, editable=False)
    allowed = models.TextField(blank=True, help_text=_("Models that may be asked, one a line; empty: all."))
    passed_headers = models.TextField(
        blank=True,
        db_default="",
        help_text=_("Headers of a program that are sent on besides those of the protocol, one a line."),
    )
    passed_paths = models.TextField(
        blank=True,
        db_default="",
        help_text=_("Addresses that are passed on without memory, one a line: completions, moderations, …"),
    )

    class Meta:
        constraints = [
            # With two, the target of a request would be ambiguous.
            models.UniqueConstraint(name="upstream_unique_in_project", fields=["project", "protocol"]),
        ]

    def __str__(self) -> str:
        return f"{self.protocol} of project {self.project}"

    @property
    def api_key(self) -> str:
        """The decrypted API key, for use in a request only."""
        return decrypt(self.sealed_key)

    @api_key.setter
    def api_key(self, key: str) -> None:
        self.sealed_key = encrypt(key)


#: How long the id of something without a chat, such as the answer to a call beside a chat, is known.
KEPT_WITHOUT_CHAT = timedelta(days=400)


class UpstreamObjectQuerySet(models.QuerySet["UpstreamObject"]):
    def expire(self, now: datetime) -> None:
        """Delete what has no chat and was stored more than ``KEPT_WITHOUT_CHAT`` ago."""
        self.filter(chat=None, at__lt=now - KEPT_WITHOUT_CHAT).delete()


class UpstreamObject(models.Model):
    """Something that an upstream stores for a project under an id: a response, an item of one, or a conversation.

    Projects may share an upstream's key, so the gateway passes on only ids of the project's own bank. ``digest`` is a
    hash of the upstream's address and the id. The row is deleted with its turn and its chat, or else when it expires.
    """

    bank = models.ForeignKey("memorybank.Bank", models.CASCADE, related_name="upstream_objects")
    digest = models.CharField(max_length=64, unique=True)
    chat = models.ForeignKey("memorybank.Chat", models.CASCADE, null=True, related_name="upstream_objects")
    output = models.ForeignKey("memorybank.Output", models.CASCADE, null=True, related_name="upstream_objects")
    at = models.DateTimeField(default=timezone.now)
    person = models.CharField(
        max_length=200,
        blank=True,
        db_default="",
        help_text="The only one who may use it: it has memory for them alone.",
    )

    objects: ClassVar[UpstreamObjectQuerySet] = UpstreamObjectQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # Read once a day, to delete what has expired.
            models.Index(name="upstream_object_without_chat", fields=["at"], condition=models.Q(chat=None)),
        ]

    def __str__(self) -> str:
        return f"upstream object {self.digest[:8]}"


class ConversationNode(models.Model):
    """The position of a turn in its conversation, as keyed hashes of the messages (see ``conversations.matching``).

    A request stores a node without ``tail``, its answer a node with ``tail``. A request that continues a turn also
    stores one with its own key as ``after``, so that it is recorded once. The hashes reveal no words, and they are
    deleted with the turn. ``notes`` are references without text, so erasure can ignore them.
    """

    chat = models.ForeignKey("memorybank.Chat", models.CASCADE, related_name="conversation_nodes")
    output = models.ForeignKey("memorybank.Output", models.CASCADE, related_name="conversation_nodes")
    before = models.CharField(max_length=64)
    after = models.CharField(max_length=64)
    tail = models.CharField(max_length=64, blank=True)
    notes = models.JSONField(
        default=list, help_text="Of each note given beside the question here its turn, by id, and the place in it."
    )
    key = models.ForeignKey("projects.APIKey", models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            # The same answer to the same messages is one node, however often it was asked for.
            models.UniqueConstraint(name="conversation_node_unique_in_output", fields=["output", "after"]),
        ]
        indexes = [
            # Queried before every prompt of a conversation without an id, for the chat with this beginning or turn.
            models.Index(name="conversation_node_after", fields=["after"]),
            models.Index(name="conversation_node_tail", fields=["tail"]),
        ]

    def __str__(self) -> str:
        return f"node of output {self.output_id}"

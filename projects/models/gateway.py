"""Tables of the gateway: the upstream of each project, and the nodes of recorded conversations."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from projects.web.encryption import decrypt, encrypt
from projects.web.providers import PROVIDERS

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
            # Two would make "where does it go" ambiguous.
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


class ConversationNode(models.Model):
    """The position of a turn in its conversation, as keyed hashes of the messages (see ``conversations.matching``).

    A request leaves a node without ``tail``, an answer one with it. The hashes reveal no words, and they are deleted
    with the turn. ``notes`` are references, so that erasure need not look here.
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
            # Read before every prompt of a conversation without an id: which chat has this beginning, or this turn.
            models.Index(name="conversation_node_after", fields=["after"]),
            models.Index(name="conversation_node_tail", fields=["tail"]),
        ]

    def __str__(self) -> str:
        return f"node of output {self.output_id}"

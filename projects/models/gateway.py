"""What the gateway keeps: where a project's requests go, and which conversation a turn belongs to."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from projects.web.encryption import decrypt, encrypt

from .project import Project


class Upstream(models.Model):
    """Whose models answer a project's programs; one for each protocol."""

    class Protocol(models.TextChoices):
        OPENAI = "openai", _("OpenAI: chat completions, responses, embeddings")
        ANTHROPIC = "anthropic", _("Anthropic: messages")

    project = models.ForeignKey(Project, models.CASCADE, related_name="upstreams")
    protocol = models.CharField(max_length=10, choices=Protocol)
    base_url = models.CharField(
        max_length=500,
        validators=[
            RegexValidator(r"^https?://[^/\s?#]+[^\s?#]*$", _("An address such as https://api.openai.com/v1."))
        ],
        help_text=_("As a client of that protocol takes it, such as https://api.openai.com/v1."),
    )
    sealed_key = models.TextField(blank=True, editable=False)
    allowed = models.TextField(blank=True, help_text=_("Models that may be asked, one a line; empty: all."))

    class Meta:
        constraints = [
            # Two would make "where does it go" ambiguous.
            models.UniqueConstraint(name="upstream_unique_in_project", fields=["project", "protocol"]),
        ]

    def __str__(self) -> str:
        return f"{self.protocol} of project {self.project}"

    @property
    def api_key(self) -> str:
        """Its key in clear, for the request alone."""
        return decrypt(self.sealed_key)

    @api_key.setter
    def api_key(self, key: str) -> None:
        self.sealed_key = encrypt(key)


class GatewayStep(models.Model):
    """A turn's place in its conversation, as keyed hashes of what was said (see ``conversation_matching``).

    Nobody reads a word in them, and they go with their turn.
    """

    chat = models.ForeignKey("memorybank.Chat", models.CASCADE, related_name="gateway_steps")
    output = models.ForeignKey("memorybank.Output", models.CASCADE, related_name="gateway_steps")
    before = models.CharField(max_length=64)
    after = models.CharField(max_length=64)
    tail = models.CharField(max_length=64)

    class Meta:
        constraints = [
            # The same answer to the same words is one step, however often it was asked for.
            models.UniqueConstraint(name="gateway_step_unique_in_output", fields=["output", "after"]),
        ]
        indexes = [
            # Read before every prompt of a conversation without an id: which chat has this beginning, or this turn.
            models.Index(name="gateway_step_after", fields=["after"]),
            models.Index(name="gateway_step_tail", fields=["tail"]),
        ]

    def __str__(self) -> str:
        return f"step of output {self.output_id}"

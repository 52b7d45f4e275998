"""The providers that the gateway can forward to: for each, its label and how to send it a request."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Provider:
    """How to send a request to a provider.

    ``label`` names its protocols. The provider's own clients append ``root`` to the base URL, so :meth:`url` adds it
    where it is missing. The API key is sent in ``key_header``, after ``key_prefix``. ``request_headers`` are forwarded
    to the provider; response headers whose names begin with one of ``answer_headers`` are returned to the client.
    """

    label: str | Promise
    root: str = ""
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    request_headers: tuple[str, ...] = ()
    answer_headers: tuple[str, ...] = ()

    def url(self, base_url: str, path: str) -> str:
        """The URL of a path such as ``chat/completions``."""
        base = base_url.rstrip("/")
        return f"{base if base.endswith(self.root) else base + self.root}/{path}"

    def authentication(self, api_key: str) -> dict[str, str]:
        """The headers that authenticate this site."""
        return {self.key_header: f"{self.key_prefix}{api_key}"} if api_key else {}


#: By the provider name that settings and :class:`Upstream` rows use.
PROVIDERS = {
    "openai": Provider(
        _("OpenAI: chat completions, responses, embeddings"),
        request_headers=("openai-beta",),
        answer_headers=("openai-model", "openai-processing-ms", "openai-version"),
    ),
    "anthropic": Provider(
        _("Anthropic: messages"),
        root="/v1",
        key_header="x-api-key",
        key_prefix="",
        request_headers=("anthropic-version", "anthropic-beta", "anthropic-dangerous-direct-browser-access"),
        answer_headers=("anthropic-ratelimit-",),
    ),
}

"""The providers that the gateway forwards to: their names, and how a request is sent there. A row each."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Provider:
    """``label`` names its protocols. Clients add ``root`` to its base address, so a base address may lack it.

    The key is sent in ``key_header``, after ``key_prefix``. ``request_headers`` of a client are passed on;
    ``answer_headers`` are beginnings of the names of headers that are passed back.
    """

    label: str | Promise
    root: str = ""
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    request_headers: tuple[str, ...] = ()
    answer_headers: tuple[str, ...] = ()

    def url(self, base_url: str, path: str) -> str:
        """The address of a path such as ``chat/completions``."""
        base = base_url.rstrip("/")
        return f"{base if base.endswith(self.root) else base + self.root}/{path}"

    def authentication(self, api_key: str) -> dict[str, str]:
        """The headers that authenticate this site."""
        return {self.key_header: f"{self.key_prefix}{api_key}"} if api_key else {}


#: By the name that settings and the rows of upstreams have.
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

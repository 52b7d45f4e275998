"""Choose the upstream of a project: its own, or the site's."""

from dataclasses import dataclass

from django.conf import settings

from memorybank.exceptions import InvalidInput
from projects.web.providers import PROVIDERS

from ...models import Project, Upstream
from ..refusals import Refusal


@dataclass(frozen=True, slots=True)
class UpstreamTarget:
    """An upstream's address and key. If ``allowed`` is empty, every model may be used.

    ``passed_headers`` are forwarded in addition to those of its protocol, and in lower case;
    ``passed_paths`` are the optional paths that are forwarded, without memory.
    """

    protocol: str
    base_url: str
    api_key: str
    allowed: frozenset[str] = frozenset()
    passed_headers: frozenset[str] = frozenset()
    passed_paths: frozenset[str] = frozenset()
    #: Whether projects of several tenants use its key.
    is_shared: bool = False

    def url(self, path: str) -> str:
        """The address of a path such as ``chat/completions``."""
        return PROVIDERS[self.protocol].url(self.base_url, path)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that authenticate this site."""
        return PROVIDERS[self.protocol].authentication(self.api_key)

    def require_passed(self, path: str) -> None:
        """Raise :class:`Refusal` for an optional path that is not in ``passed_paths``."""
        if path not in self.passed_paths:
            raise Refusal(404, "This gateway does not pass on this path. Its operator can switch that on.")

    def require_model(self, model: object) -> None:
        """Raise :class:`Refusal` if ``allowed`` is not empty and the model is missing or not in it."""
        if not self.allowed:
            return
        if not isinstance(model, str) or not model:
            raise Refusal(400, "model: name the model. This project may use some models only.")
        if model not in self.allowed:
            raise Refusal(404, "model: this project may not use it. GET /v1/models lists those that it may use.")


def target_of(project: Project, protocol: str) -> UpstreamTarget:
    """The project's own upstream of a protocol, else the site's; :class:`Refusal` if there is neither."""
    own = next((own for own in project.upstreams.all() if own.protocol == protocol), None)
    if own:
        lists = _lines(own.allowed), _lines(own.passed_headers.lower()), _lines(own.passed_paths)
        return UpstreamTarget(protocol, own.base_url, _api_key(own), *lists)
    base_url, api_key = settings.GATEWAY_UPSTREAMS[protocol]
    if not base_url:
        raise Refusal(503, f"This project has no {protocol} upstream. Set one in the admin or in the site's settings.")
    headers, paths = settings.GATEWAY_PASSED_HEADERS, settings.GATEWAY_PASSED_PATHS
    passed = {"passed_headers": frozenset(headers), "passed_paths": frozenset(paths)}
    return UpstreamTarget(protocol, base_url, api_key, **passed, is_shared=True)


def _lines(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.splitlines())))


def _api_key(own: Upstream) -> str:
    try:
        return own.api_key
    except InvalidInput as error:
        raise Refusal(503, str(error)) from None

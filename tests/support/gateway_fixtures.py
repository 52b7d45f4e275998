"""One served gateway for all tests of a module: a plug-in of theirs, by import."""

from collections.abc import Iterator

import pytest

from .gateway_site import Gateway, gateway
from .upstream import obedient


@pytest.fixture(scope="module")
def site_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Starting it takes seconds."""
    with gateway(tmp_path_factory.mktemp("gateway")) as found:
        yield found


@pytest.fixture
def served(site_of_module: Gateway) -> Iterator[Gateway]:
    """With an upstream that is well again, and without anybody else's clients."""
    upstream = site_of_module.upstream
    upstream.answer, upstream.status, upstream.usage = obedient, 200, True
    upstream.delay, upstream.pace, upstream.break_after = 0.0, 0.0, 0
    upstream.headers, upstream.error = {"x-request-id": "req_upstream"}, "The upstream says no."
    upstream.seen.clear()
    yield site_of_module
    while site_of_module.clients:
        site_of_module.clients.pop().close()

"""Fixtures of a running gateway, for all tests."""

from collections.abc import Iterator

import pytest

from .gateway_site import Gateway, gateway
from .upstream import LocalUpstream, obedient


@pytest.fixture(scope="session")
def site_of_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A served site. One for each process of the test run, because starting it takes seconds."""
    with gateway(tmp_path_factory.mktemp("gateway")) as served_site:
        yield served_site


@pytest.fixture(scope="module")
def site_of_module(site_of_run: Gateway) -> Gateway:
    """The served site with an empty database, whose projects and keys are the module's own."""
    site_of_run.start_over()
    _reset(site_of_run.upstream)
    return site_of_run


@pytest.fixture
def served(site_of_module: Gateway) -> Iterator[Gateway]:
    """The module's gateway with its upstream reset; closes the test's clients at the end."""
    _reset(site_of_module.upstream)
    yield site_of_module
    while site_of_module.clients:
        site_of_module.clients.pop().close()


def _reset(upstream: LocalUpstream) -> None:
    """Have the upstream answer as it does at first, whatever a test has made of it."""
    upstream.answer, upstream.status, upstream.usage = obedient, 200, True
    upstream.delay, upstream.pace, upstream.break_after = 0.0, 0.0, 0
    upstream.headers, upstream.error = {"x-request-id": "req_upstream"}, "The upstream refuses."
    upstream.in_place = b""
    upstream.seen.clear()

"""Chats that open alike at the same moment stay apart: in one process and in two, on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.gateway_site import Gateway, gateway
from tests.support.requirements import IS_CI, in_ci, needs_postgres

pytestmark = [pytest.mark.own_servers]

CHATS, AT_ONCE = 100 if IS_CI else 30, 20
OPENING = {"role": "user", "content": "Good morning."}
GREETING = {"role": "assistant", "content": "You said: Good morning."}


@pytest.fixture(params=["SQLite", pytest.param("PostgreSQL", marks=in_ci)])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gateway]:
    postgres = needs_postgres() if request.param == "PostgreSQL" else ""
    with gateway(tmp_path, postgres=postgres) as served_site:
        yield served_site


@pytest.mark.parametrize("processes", [pytest.param(1, marks=in_ci), 2])
def test_chats_that_open_alike_at_the_same_moment_are_as_many_chats(served: Gateway, processes: int) -> None:
    addresses = [served.address, served.second()] if processes == 2 else [served.address]

    def say(number: int, *, opened: bool) -> str:
        messages = [OPENING, GREETING, {"role": "user", "content": f"I am number {number}."}] if opened else [OPENING]
        # A chat goes on in the other process than the one where it began.
        address = addresses[(number + opened) % len(addresses)]
        status, headers, raw = served.post(f"{address}/v1/chat/completions", {"model": "small", "messages": messages})
        assert (status, headers["x-memory-turn"]) == (200, "recorded"), raw
        return headers["x-memory-chat"]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        opened = list(pool.map(lambda number: say(number, opened=False), range(CHATS)))
        assert len(set(opened)) == CHATS
        continued = list(pool.map(lambda number: say(number, opened=True), range(CHATS)))
    assert set(continued) == set(opened), "each goes on with one of them, no two with the same"
    assert len(continued) == len(set(continued))
    turns = served.turns()
    assert len(turns) == 2 * CHATS
    assert all(turn["status"] == "ok" for turn in turns)

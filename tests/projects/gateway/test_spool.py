"""In which order the spool writes: short turns need not wait for all long ones, and no chat's turns change places."""

import asyncio
import threading

import pytest
from django.db import connections

from projects.gateway.database import spool as gateway_spool
from projects.gateway.database.spool import Spool
from projects.gateway.database.threads import Threads
from tests.support.factories import make_bank

MAX_SECONDS = 60.0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("nobody_waits", [False, True])
def test_short_pieces_overtake_long_ones_unless_a_request_was_answered_without_waiting(
    monkeypatch: pytest.MonkeyPatch, nobody_waits: bool
) -> None:
    own = Threads("test", 1)  # whose connection this test can close
    monkeypatch.setattr(gateway_spool, "writers", own)
    bank, written, may_write = make_bank(), list[str](), threading.Event()

    async def write() -> None:
        spool = Spool(lambda bank_id, number: None)

        def add(name: str) -> gateway_spool.Piece:
            def work(again: bool) -> None:
                may_write.wait(MAX_SECONDS)
                written.append(name)

            return spool.add(bank.pk, work, is_long=name.startswith("long"))

        long = [add(f"long {number}") for number in range(3)]
        await asyncio.sleep(0)  # the first is being written
        pieces = [*long, *(add(f"short {number}") for number in range(2))]
        if nobody_waits:
            assert not await spool.wait(bank.pk, long[1], 0.01)
        may_write.set()
        await asyncio.gather(*(piece.done.wait() for piece in pieces))

    try:
        asyncio.run(write())
    finally:
        asyncio.run(own.run(connections.close_all))
    in_order = ["long 0", "long 1", "long 2", "short 0", "short 1"]
    assert written == (in_order if nobody_waits else ["long 0", "short 0", "short 1", "long 1", "long 2"])

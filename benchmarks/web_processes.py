"""Requests a second through the gateway with one web process and with two, on PostgreSQL.

    python -m benchmarks.web_processes --seconds 20

Both sites run all the time, each with the sample's memory, and are asked in turns by 16 clients at once, so that a busy
moment hits both alike. Database, upstream and clients share the machine: beside the ratio stands how many processors were
busy, because where one process and its database keep all of them busy, a second process cannot do more. Target: ≥ 1.8 ×.
"""

import argparse
import asyncio
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from tests.support.gateway_site import gateway
from tests.support.requirements import needs_postgres

from .gateway import upstream
from .gateway_load import Way, at_once, prepare
from .measuring import Measurement, show

CLIENTS, ROUNDS = 16, 3
#: Seconds in a tick of the kernel's clock, by which /proc/stat counts.
TICK = 1 / os.sysconf("SC_CLK_TCK")


def busy_seconds() -> float:
    """Processor seconds that all processors of the machine have worked since it was started."""
    user, nice, system, _idle, _waiting, *interrupts = Path("/proc/stat").read_text().splitlines()[0].split()[1:8]
    return TICK * sum(map(int, (user, nice, system, *interrupts)))


def measure(seconds: float) -> list[Measurement]:
    """Rounds in turns; of each way the median."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    busy: dict[int, list[float]] = {1: [], 2: []}
    with ExitStack() as stack:
        address = stack.enter_context(upstream(pace=0.0, words=20))
        ways = {processes: _served(stack, processes, address) for processes in rates}
        for way in ways.values():
            asyncio.run(at_once(way, CLIENTS, 5, start=0))
        for number in range(ROUNDS):
            for processes, way in ways.items():
                before = busy_seconds()
                rate = asyncio.run(at_once(way, CLIENTS, seconds, start=100_000 * (number + 1)))
                rates[processes].append(rate)
                busy[processes].append((busy_seconds() - before) / seconds)
        errors = sum(way.errors for way in ways.values())
    return [
        Measurement("load of the machine, 1 minute", f"{os.getloadavg()[0]:.1f}"),
        *(Measurement(f"requests a second, {n} web process(es)", f"{median(rates[n]):.0f}") for n in rates),
        Measurement("two processes / one", f"{median(rates[2]) / median(rates[1]):.2f} ×", "≥ 1.8 ×"),
        *(Measurement(f"busy processors of {os.cpu_count()}, {n}", f"{median(busy[n]):.2f}") for n in busy),
        Measurement("errors", str(errors), "0"),
    ]


def _served(stack: ExitStack, processes: int, address: str) -> Way:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    served = stack.enter_context(
        gateway(
            folder,
            postgres=needs_postgres(),
            DEBUG="false",
            SECRET_KEY="x" * 50,
            GATEWAY_OPENAI_BASE_URL=address,
            API_MEGABYTES_PER_MINUTE="0",
            WEB_CONCURRENCY=str(processes),  # uvicorn reads it
        )
    )
    return Way(f"{processes} processes", f"{served.base_url}/chat/completions", prepare(served))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    show("Web processes", measure(parser.parse_args().seconds))


if __name__ == "__main__":
    main()

"""Requests a second through the gateway with one web process and with two, on PostgreSQL.

    python -m benchmarks.web_processes --seconds 20

Both servers run all the time, on one database, and are asked in turns by 16 clients at once, so that a busy moment hits
both alike: of one project with the sample's memory, and spread over eight, because turns of one project are recorded one
after another. The other seven have little memory, so only the ratios of both can be compared. Database, upstream and
clients share the machine: beside the ratio stands how many processors were busy, and with what, because where one
process and its database keep all of them busy, a second process cannot do more. Target: ≥ 1.8 ×.
"""

import argparse
import asyncio
import json
import os
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.support.gateway_site import Gateway, free_port, gateway
from tests.support.requirements import needs_postgres

from .gateway import upstream
from .gateway_load import PROJECT, SAMPLE, Way, at_once
from .measuring import Measurement, show

CLIENTS, ROUNDS, PROJECTS = 16, 3, 8
#: Turns of the other projects.
TURNS = 20
#: Seconds in a tick of the kernel's clock, by which /proc counts.
TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass
class Site:
    """A server with so many web processes, with a way to each project; and of each round what was measured."""

    processes: int
    pid: int
    ways: list[Way]
    rates: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    busy: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def ask(self, projects: int, seconds: float, start: int) -> None:
        """A round: clients ask so many of the projects."""
        before = _processor_seconds(self.pid)
        self.rates[projects].append(asyncio.run(_at_once(self.ways[:projects], seconds, start)))
        for what, spent in _processor_seconds(self.pid).items():
            self.busy[what].append((spent - before[what]) / seconds)


async def _at_once(ways: list[Way], seconds: float, start: int) -> float:
    """Requests a second of all clients, spread over the ways."""
    clients = CLIENTS // len(ways)
    return sum(await asyncio.gather(*(at_once(way, clients, seconds, start=start) for way in ways)))


def _processor_seconds(server: int) -> dict[str, float]:
    """What the parts of a server, and all others, have worked since they were started."""
    user, nice, system, _idle, _waiting, *interrupts = Path("/proc/stat").read_text().splitlines()[0].split()[1:8]
    spent = {"all": TICK * sum(map(int, (user, nice, system, *interrupts))), "web": 0.0, "database": 0.0}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, values = path.read_text().rpartition(")")
        except OSError:  # it has ended
            continue
        _, parent, *values = values.split()
        seconds = TICK * sum(map(int, values[9:11]))
        if name.endswith("(postgres"):
            spent["database"] += seconds
        elif server in (int(path.parent.name), int(parent)):
            spent["web"] += seconds
    return {**spent, "clients": sum(os.times()[:2])}


def measure(seconds: float) -> list[Measurement]:
    """Rounds in turns; of each site the median."""
    with ExitStack() as stack:
        address = stack.enter_context(upstream(pace=0.0, words=20))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        env = {"DEBUG": "false", "SECRET_KEY": "x" * 50, "API_MEGABYTES_PER_MINUTE": "0"}
        served = stack.enter_context(gateway(folder, postgres=needs_postgres(), GATEWAY_OPENAI_BASE_URL=address, **env))
        servers = [(served.base_url, served.server.pid), _second(served, 2)]
        keys = _prepare(served, folder)  # meanwhile the second server starts
        sites = [
            Site(number, pid, [Way(key, f"{url}/chat/completions", key) for key in keys])
            for number, (url, pid) in enumerate(servers, 1)
        ]
        for site in sites:
            asyncio.run(_at_once(site.ways, 5, start=0))
        for number in range(ROUNDS):
            for projects in (1, PROJECTS):
                for site in sites:
                    site.ask(projects, seconds, start=100_000 * (number + 1) + 10_000 * projects)
        errors = sum(way.errors for site in sites for way in site.ways)
    rows = [Measurement("load of the machine, 1 minute", f"{os.getloadavg()[0]:.1f}")]
    for projects in (1, PROJECTS):
        one, two = (median(site.rates[projects]) for site in sites)
        of = f"{projects} project(s)"
        rows += [
            Measurement(f"requests a second, {of}, 1 and 2 web processes", f"{one:.0f} and {two:.0f}"),
            Measurement(f"two processes / one, {of}", f"{two / one:.2f} ×", "≥ 1.8 ×"),
        ]
    for site in sites:
        busy = ", ".join(f"{what} {median(spent):.2f}" for what, spent in site.busy.items())
        rows.append(Measurement(f"busy processors of {os.cpu_count()}, {site.processes} web process(es)", busy))
    return [*rows, Measurement("errors", str(errors), "0")]


def _second(served: Gateway, processes: int) -> tuple[str, int]:
    """Another server on the database of the first; its address and process."""
    port = free_port()
    server = served.site.start(
        *("-m", "uvicorn", "config.asgi:application", "--port", port, "--log-level", "warning", "--workers", processes)
    )
    return f"http://127.0.0.1:{port}/v1", server.pid


def _prepare(served: Gateway, folder: Path) -> list[str]:
    """Import the sample's project, and its beginning as others; make their memory, and return a key to each."""
    tenant, project = PROJECT.split("/")
    names = [project, *(f"{project}-{number}" for number in range(2, PROJECTS + 1))]
    rows = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    own = [row for row in rows if (row["tenant"], row["project"]) == (tenant, project)]
    chats = folder / "chats.jsonl"
    copied = [{**row, "project": name} for name in names for row in own[: None if name == project else TURNS]]
    chats.write_text("\n".join(map(json.dumps, copied)))
    served.site.call("import_chats", chats, "--enable")
    made = served.site.call("run_memory", "--until-idle", "--now", "2026-07-01T00:00:00Z")
    assert made.code == 0, made.err
    keys = [
        served.site.call("create_api_key", f"{tenant}/{name}", "--name", "load", "--scopes", "write") for name in names
    ]
    return [next(word for word in made.out.split() if word.startswith("mb_")) for made in keys]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    show("Web processes", measure(parser.parse_args().seconds))


if __name__ == "__main__":
    main()

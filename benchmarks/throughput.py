"""Four workers on 1,000 due chats with a model of 200 ms: time beside the 50 seconds of the model alone.

Command: python -m benchmarks throughput; python -m benchmarks.throughput --help

In one bank and in a hundred, on every broker that is installed: the file broker with SQLite (threads), Redis and RabbitMQ
with PostgreSQL (processes). Target: at most 1.3 × the time of the model alone. On a machine with other work, ``--chats 250
--call-seconds 0.8`` asks as long of the model and a quarter of the processors: what then remains is waiting.
"""

import argparse
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from django.utils import timezone
from kombu import Connection

from memorybank import services
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, site
from tests.support.requirements import LOCAL

from . import seeding
from .measuring import Measurement, show

CHAT_COUNT, TURNS_PER_CHAT, WORKER_COUNT, CALL_SECONDS = 1_000, 2, 4, 0.2
SWEEP = "import time; import config.celery; from memorybank.tasks import sweep; sweep.delay(); print(time.monotonic())"
MAX_SECONDS = 20 * 60  # seconds

NAMES = ("files and SQLite", "Redis and PostgreSQL", "RabbitMQ and PostgreSQL")


@dataclass(frozen=True, slots=True)
class Load:
    """How many chats in how many banks, and how long a call of the model takes."""

    banks: int
    chats: int = CHAT_COUNT
    call_seconds: float = CALL_SECONDS

    @property
    def ideal(self) -> float:
        """Seconds of the model alone."""
        return self.chats * self.call_seconds / WORKER_COUNT


def measure(
    names: tuple[str, ...] = NAMES, loads: tuple[Load, ...] = (Load(banks=1), Load(banks=100))
) -> list[Measurement]:
    """Every broker that answers, by default with one bank and with a hundred."""
    rows = [Measurement("the model alone, s", f"{loads[0].ideal:.0f}")]
    for name in names:
        for load in loads:
            what = f"{name}, {load.banks} bank{'s' if load.banks > 1 else ''}"
            with tempfile.TemporaryDirectory() as folder, site_on(name, Path(folder)) as made:
                rows += _rows(what, made, load) if made else [Measurement(what, "no such server")]
    return rows


def _rows(what: str, made: Site, load: Load) -> list[Measurement]:
    spent, settled, cpu = _work_off(made, load, [] if made.database_url else ["--pool", "threads"])
    return [
        Measurement(f"{what}: all summarised, s", f"{spent:.1f}"),
        Measurement(f"{what}: of the ideal", f"{spent / load.ideal:.2f} ×", "≤ 1.3 ×"),
        Measurement(f"{what}: blocks current after another … s", f"{settled:.1f}"),
        Measurement(f"{what}: processor time a chat, ms", f"{cpu / load.chats * 1000:.0f}"),
        Measurement(f"{what}: load of the machine then", f"{os.getloadavg()[0]:.0f}"),
    ]


def _work_off(made: Site, load: Load, pool: list[str]) -> tuple[float, float, float]:
    """Seconds from the first sweep until nothing waits, from then until the blocks are current, and of CPU."""
    if made.start("-m", "benchmarks.throughput", "--banks", load.banks, "--chats", load.chats, "--seed").wait():
        raise SystemExit(made.output()[-3000:])
    with OpenAIServer(delay=load.call_seconds, keep=1) as model:
        made.env |= {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "bench"}
        before = _cpu()
        options = [
            "-B",
            *pool,
            "--concurrency",
            str(WORKER_COUNT),
            "--loglevel",
            "INFO",
            "--hostname",
            f"{uuid4().hex}@%h",
        ]
        worker = made.start("-m", "celery", "-A", "config", "worker", *options)
        wait_for(made, lambda: "ready." in made.output())
        started = float(made.manage("shell", "-c", SWEEP).out.split()[-1])
        wait_for(made, lambda: ask_for(made, "SELECT sum(pending_outputs) FROM memorybank_chat") == 0)
        summarised = time.monotonic()
        unsettled = "SELECT count(*) FROM memorybank_bank WHERE consolidate_at IS NOT NULL"
        wait_for(made, lambda: ask_for(made, unsettled) == 0)
        settled = time.monotonic()
        worker.terminate()  # and not killed: it waits for its processes, so that their time counts
        worker.wait()
        made.stop()
        assert worker.returncode is not None
    return summarised - started, settled - summarised, _cpu() - before


def ask_for(made: Site, query: str) -> object:
    return made.ask(query)[0][0]


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def wait_for(made: Site, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + MAX_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"Nothing happened for {MAX_SECONDS} s:\n{made.output()[-3000:]}")
        time.sleep(0.1)


@contextmanager
def site_on(name: str, folder: Path) -> Iterator[Site | None]:
    """A site on this broker, or None without the servers that it takes."""
    if name.startswith("files"):
        with site(folder) as made:
            yield made
        return
    postgres, broker = (
        _address("TEST_DATABASE_URL"),
        _address("TEST_REDIS_URL" if "Redis" in name else "TEST_RABBITMQ_URL"),
    )
    queue = f"memorybank-bench-{uuid4().hex[:12]}"
    if not _answers(broker):
        yield None
        return
    with (
        _emptied(broker, queue) as own,
        site(folder, postgres=postgres, CELERY_BROKER_URL=own, CELERY_QUEUE=queue) as made,
    ):
        yield made


def _address(variable: str) -> str:
    return os.environ.get(variable, LOCAL[variable])


def _answers(broker: str) -> bool:
    try:
        with Connection(broker, connect_timeout=3) as connection:
            connection.ensure_connection(max_retries=1, timeout=3)
    except Exception:  # every client raises its own
        return False
    return True


@contextmanager
def _emptied(broker: str, queue: str) -> Iterator[str]:
    """The broker's address, for Redis with a database that nobody uses, without our messages afterwards."""
    if broker.startswith("amqp"):
        try:
            yield broker
        finally:
            with Connection(broker) as connection:
                connection.default_channel.queue_delete(queue)
                connection.default_channel.exchange_delete(queue)
        return
    import redis

    clients = (redis.Redis.from_url(f"{broker}/{number}") for number in range(15, 0, -1))
    client = next(client for client in clients if not client.dbsize())
    number = client.connection_pool.connection_kwargs["db"]
    try:
        yield f"{broker}/{number}"
    finally:
        client.flushdb()


def _seed(load: Load) -> None:
    """In the site's process: chats of a day ago, so that they are idle."""
    draw, now = random.Random(1), timezone.now()
    rows = [seeding.bank() for _ in range(load.banks)]
    for number in range(load.chats * TURNS_PER_CHAT):
        chat = number % load.chats
        services.record(
            rows[chat % load.banks],
            chat_key=f"chat {chat}",
            author=draw.choice(seeding.SPEAKERS),
            question=seeding.sentence(draw),
            answer=seeding.sentence(draw),
            created_at=now - timedelta(days=1),
        )


def main() -> None:
    """The benchmark, or in a site's own process one part of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=NAMES, action="append", help="a broker, more than once for several")
    parser.add_argument("--banks", type=int, nargs="*", default=[1, 100])
    parser.add_argument("--chats", type=int, default=CHAT_COUNT)
    parser.add_argument("--call-seconds", type=float, default=CALL_SECONDS)
    parser.add_argument("--seed", action="store_true", help="only record the chats, in the current database")
    options = parser.parse_args()
    loads = [Load(banks, options.chats, options.call_seconds) for banks in options.banks]
    if options.seed:
        _seed(loads[0])
    else:
        show(str(__doc__).splitlines()[0], measure(tuple(options.only or NAMES), tuple(loads)))


if __name__ == "__main__":
    main()

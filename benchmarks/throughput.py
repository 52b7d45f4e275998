"""Four workers on 1,000 due chats with a model of 200 ms: time beside the 50 seconds of the model alone.

Command: python -m benchmarks throughput

In one bank and in a hundred, on every broker that is installed: the file broker with SQLite (threads), Redis and RabbitMQ
with PostgreSQL (processes). Target: at most 1.3 × the time of the model alone.
"""

import argparse
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
IDEAL = CHAT_COUNT * CALL_SECONDS / WORKER_COUNT
SWEEP = "import time; import config.celery; from memorybank.tasks import sweep; sweep.delay(); print(time.monotonic())"
MAX_SECONDS = 20 * 60  # seconds

NAMES = ("files and SQLite", "Redis and PostgreSQL", "RabbitMQ and PostgreSQL")


def measure(names: tuple[str, ...] = NAMES) -> list[Measurement]:
    """Every broker that answers, with one bank and with a hundred."""
    rows = [Measurement("the model alone, s", f"{IDEAL:.0f}")]
    for name in names:
        for banks in (1, 100):
            what = f"{name}, {banks} bank{'s' if banks > 1 else ''}"
            with tempfile.TemporaryDirectory() as folder, _site(name, Path(folder)) as made:
                rows += _rows(what, made, banks) if made else [Measurement(what, "no such server")]
    return rows


def _rows(what: str, made: Site, banks: int) -> list[Measurement]:
    spent, settled, cpu = _work_off(made, banks, [] if made.database_url else ["--pool", "threads"])
    return [
        Measurement(f"{what}: all summarised, s", f"{spent:.1f}"),
        Measurement(f"{what}: of the ideal", f"{spent / IDEAL:.2f} ×", "≤ 1.3 ×"),
        Measurement(f"{what}: blocks current after another … s", f"{settled:.1f}"),
        Measurement(f"{what}: processor time a chat, ms", f"{cpu / CHAT_COUNT * 1000:.0f}"),
    ]


def _work_off(made: Site, banks: int, pool: list[str]) -> tuple[float, float, float]:
    """Seconds from the first sweep until nothing waits, from then until the blocks are current, and of CPU."""
    if made.start("-m", "benchmarks.throughput", "--seed", banks).wait():
        raise SystemExit(made.output()[-3000:])
    with OpenAIServer(delay=CALL_SECONDS, keep=1) as model:
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
        _wait(made, lambda: "ready." in made.output())
        started = float(made.manage("shell", "-c", SWEEP).out.split()[-1])
        _wait(made, lambda: _ask(made, "SELECT sum(pending_outputs) FROM memorybank_chat") == 0)
        summarised = time.monotonic()
        unsettled = "SELECT count(*) FROM memorybank_bank WHERE compress_at IS NOT NULL"
        _wait(made, lambda: _ask(made, unsettled) == 0)
        settled = time.monotonic()
        worker.terminate()  # and not killed: it waits for its processes, so that their time counts
        worker.wait()
        made.stop()
        assert worker.returncode is not None
    return summarised - started, settled - summarised, _cpu() - before


def _ask(made: Site, query: str) -> object:
    return made.ask(query)[0][0]


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _wait(made: Site, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + MAX_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"Nothing happened for {MAX_SECONDS} s:\n{made.output()[-3000:]}")
        time.sleep(0.1)


@contextmanager
def _site(name: str, folder: Path) -> Iterator[Site | None]:
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


def _seed(banks: int) -> None:
    """In the site's process: chats of a day ago, so that they are idle."""
    draw, now = random.Random(1), timezone.now()
    rows = [seeding.bank() for _ in range(banks)]
    for number in range(CHAT_COUNT * TURNS_PER_CHAT):
        chat = number % CHAT_COUNT
        services.record(
            rows[chat % banks],
            chat_key=f"chat {chat}",
            author=draw.choice(seeding.SPEAKERS),
            question=seeding.sentence(draw),
            answer=seeding.sentence(draw),
            created_at=now - timedelta(days=1),
        )


def main() -> None:
    """The benchmark, or in a site's own process one part of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, metavar="BANKS")
    parser.add_argument("--only", choices=NAMES, action="append")
    options = parser.parse_args()
    if options.seed:
        _seed(options.seed)
    else:
        show(str(__doc__).splitlines()[0], measure(tuple(options.only or NAMES)))


if __name__ == "__main__":
    main()

"""Servers that a newcomer may not have: skipped with one loud line, but a failure in CI."""

import os
from collections.abc import Callable

import psycopg
import pytest
import redis
from kombu import Connection

POSTGRES = os.environ.get("TEST_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/13")
RABBITMQ = os.environ.get("TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672//")


def _ask_postgres() -> None:
    psycopg.connect(POSTGRES, connect_timeout=3).close()


def _ask_redis() -> None:
    client = redis.Redis.from_url(REDIS, socket_connect_timeout=3)
    client.ping()
    client.close()


def _ask_rabbitmq() -> None:
    with Connection(RABBITMQ, connect_timeout=3) as connection:
        connection.ensure_connection(max_retries=1, timeout=3)


def require(name: str, address: str, ask: Callable[[], None]) -> None:
    """Skip the test, loudly, if the server does not answer; fail it in CI."""
    try:
        ask()
    except Exception as error:
        reason = f"!! MISSING: no {name} at {address} ({type(error).__name__})"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


def need_postgres() -> None:
    """This test needs PostgreSQL (TEST_DATABASE_URL)."""
    require("PostgreSQL", POSTGRES, _ask_postgres)


def need_redis() -> None:
    """This test needs Redis (TEST_REDIS_URL)."""
    require("Redis", REDIS, _ask_redis)


def need_rabbitmq() -> None:
    """This test needs RabbitMQ (TEST_RABBITMQ_URL)."""
    require("RabbitMQ", RABBITMQ, _ask_rabbitmq)

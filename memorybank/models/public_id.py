"""Public ids, which replace row ids in URLs, in the API and in the output of commands.

Row ids are not shown, because they reveal how many rows all tenants have together.
"""

from base64 import b32decode, b32encode
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from secrets import token_hex
from typing import Any

from django.apps import apps as registry
from django.apps.registry import Apps
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection, models
from django.utils.crypto import salted_hmac

CIPHER_ROUNDS = 4


class PublicIdKey(models.Model):
    """The key of public ids, in one row. A new key would change every URL."""

    secret = models.CharField(max_length=64, default=token_hex)

    def __str__(self) -> str:
        return "the key of public ids"


class PublicId:
    """Path converter that encrypts row ids by a Feistel cipher, so that no table needs a column for public ids."""

    regex = r"[a-z2-7]{13}"

    def to_url(self, value: int) -> str:
        """The public id of a row's id."""
        left, right = divmod(value, 2**32)
        for number in range(CIPHER_ROUNDS):
            left, right = right, left ^ _mixed(right, number)
        return b32encode((left << 32 | right).to_bytes(8, "big")).decode().rstrip("=").lower()

    def to_python(self, value: str) -> int:
        """The row's id; raises ValueError, which Django turns into a 404, if no row can have this public id."""
        left, right = divmod(int.from_bytes(b32decode(f"{value.upper()}==="), "big"), 2**32)
        for number in reversed(range(CIPHER_ROUNDS)):
            left, right = right ^ _mixed(left, number), left
        row = left << 32 | right
        if row >= 2**63 or self.to_url(row) != value:
            raise ValueError(value)
        return row


def public_id(pk: int | None) -> str:
    """The public id of a row; "" if it is not saved yet."""
    return "" if pk is None else PublicId().to_url(pk)


def make_key(*, using: str, apps: Apps = registry, **kwargs: Any) -> None:
    """Create the key if there is none, after tables were created or flushed (``post_migrate``)."""
    try:
        key = apps.get_model("memorybank", "PublicIdKey")
    except LookupError:  # migrated back to before the key
        return
    key._default_manager.using(using).get_or_create(pk=1)
    _secret.cache_clear()
    _secret()


@cache
def _secret() -> str:
    """The key, read once per process; in an event loop, where Django refuses queries, another thread reads it."""
    try:
        return _read()
    except SynchronousOnlyOperation:
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(_read_apart).result()


def _read() -> str:
    return PublicIdKey.objects.get(pk=1).secret


def _read_apart() -> str:
    try:
        return _read()
    finally:
        connection.close()


def _mixed(half: int, number: int) -> int:
    mixed = salted_hmac("memorybank.public_id", f"{number}:{half}", secret=_secret(), algorithm="sha256")
    return int.from_bytes(mixed.digest()[:4], "big")

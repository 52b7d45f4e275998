"""The numbers of turns and facts as they leave the site: opaque, because all tenants' rows are counted together."""

from base64 import b32decode, b32encode

from django.utils.crypto import salted_hmac

ROUNDS = 4


class TurnNumber:
    """A path converter: a Feistel cipher with the site's key, so each number has one name and nothing is stored."""

    regex = r"[a-z2-7]{13}"

    def to_url(self, value: int) -> str:
        """What stands for a row's number."""
        left, right = divmod(value, 2**32)
        for number in range(ROUNDS):
            left, right = right, left ^ _mixed(right, number)
        return b32encode((left << 32 | right).to_bytes(8, "big")).decode().rstrip("=").lower()

    def to_python(self, value: str) -> int:
        """The row's number; ValueError (404) if there cannot be such a row."""
        left, right = divmod(int.from_bytes(b32decode(f"{value.upper()}==="), "big"), 2**32)
        for number in reversed(range(ROUNDS)):
            left, right = right ^ _mixed(left, number), left
        row = left << 32 | right
        if row >= 2**63 or self.to_url(row) != value:
            raise ValueError(value)
        return row


def _mixed(half: int, number: int) -> int:
    return int.from_bytes(salted_hmac("turn number", f"{number}:{half}", algorithm="sha256").digest()[:4], "big")

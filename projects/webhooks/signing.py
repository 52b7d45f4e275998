"""Sign messages as the Standard Webhooks specification says: HMAC-SHA256 over id, time and body."""

import hmac
import secrets
from base64 import b64decode, b64encode
from datetime import datetime

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """A random secret, as its owner gets it."""
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def headers(secret: str, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers by which a receiver knows that the message is ours, and not an old one."""
    timestamp = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    signature = b64encode(hmac.digest(b64decode(secret.removeprefix(PREFIX)), signed, "sha256")).decode()
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{signature}"}

"""Sign messages as the Standard Webhooks specification says: HMAC-SHA256 over id, time and body."""

import hmac
import secrets
from base64 import b64decode, b64encode
from datetime import datetime

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """A random secret as its owner gets it: ``whsec_`` and base64."""
    return SECRET_PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def headers(secret: str, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers with which a receiver verifies that the message is from this site, and recent."""
    timestamp = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    signature = b64encode(hmac.digest(b64decode(secret.removeprefix(SECRET_PREFIX)), signed, "sha256")).decode()
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{signature}"}

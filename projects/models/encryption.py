"""Encrypt secrets that must be readable again (keys of upstreams and webhooks), with a key derived from SECRET_KEY."""

from base64 import urlsafe_b64encode
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from memorybank.exceptions import InvalidInput


def encrypt(secret: str) -> str:
    """Encrypt with the current SECRET_KEY; "" stays empty."""
    return _cipher().encrypt(secret.encode()).decode() if secret else ""


def decrypt(token: str) -> str:
    """Decrypt with SECRET_KEY or one of SECRET_KEY_FALLBACKS. Raises :class:`InvalidInput`."""
    if not token:
        return ""
    try:
        return _cipher().decrypt(token.encode()).decode()
    except InvalidToken:
        raise InvalidInput("This secret was encrypted with another SECRET_KEY. Enter it again.") from None


def _cipher() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(key: str) -> Fernet:
    # SECRET_KEY also signs other things, so each use derives a separate key. The name is that of a former module: with
    # another name, no stored secret could be decrypted.
    return Fernet(urlsafe_b64encode(sha256(f"projects.web.encryption\0{key}".encode()).digest()))

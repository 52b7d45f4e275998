"""Secrets that must be read again (keys to other services), encrypted at rest with a key made of SECRET_KEY."""

from base64 import urlsafe_b64encode
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from memorybank.exceptions import InvalidInput


def seal(secret: str) -> str:
    """Encrypted with what SECRET_KEY is now; "" stays empty."""
    return _box().encrypt(secret.encode()).decode() if secret else ""


def unseal(sealed: str) -> str:
    """In clear, whether sealed with SECRET_KEY or with one of SECRET_KEY_FALLBACKS. Raises :class:`InvalidInput`."""
    if not sealed:
        return ""
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise InvalidInput("The upstream's key was sealed with another SECRET_KEY. Enter it again.") from None


def _box() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(key: str) -> Fernet:
    # SECRET_KEY signs other things, too: each use has a key of its own.
    return Fernet(urlsafe_b64encode(sha256(f"projects.web.encryption\0{key}".encode()).digest()))

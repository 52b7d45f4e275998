"""How a chat's key stands in an address: a plain word as it is, any other encoded, for no path may hold it."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

PLAIN = re.compile(r"[-a-zA-Z0-9_]+")


class ChatKey:
    """A path converter. One key has one address: ``~`` and base64 of what is no plain word, as ``a/b`` or ``..``."""

    regex = r"~?[-a-zA-Z0-9_]+"

    def to_python(self, value: str) -> str:
        """The key; ValueError (404) if nothing has this address."""
        if not value.startswith("~"):
            return value
        coded = value[1:]
        key = urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode()
        if self.to_url(key) != value:
            raise ValueError(value)
        return key

    def to_url(self, value: str) -> str:
        """Its place in an address."""
        return value if PLAIN.fullmatch(value) else "~" + urlsafe_b64encode(value.encode()).decode().rstrip("=")

"""URL converter for chat keys: plain words unchanged, other keys in base64."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

PLAIN_KEY = re.compile(r"[-a-zA-Z0-9_]+")


class ChatKey:
    """A path converter. Each key has one form: keys such as ``a/b`` or ``..`` become ``~`` and base64."""

    regex = r"~?[-a-zA-Z0-9_]+"

    def to_python(self, value: str) -> str:
        """The key; ValueError (404) if the form is not canonical."""
        if not value.startswith("~"):
            return value
        coded = value[1:]
        key = urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode()
        if self.to_url(key) != value:
            raise ValueError(value)
        return key

    def to_url(self, value: str) -> str:
        return value if PLAIN_KEY.fullmatch(value) else "~" + urlsafe_b64encode(value.encode()).decode().rstrip("=")

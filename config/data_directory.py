"""Create the data directory and its secret key, readable only by their owner."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def make_writable(folder: Path) -> Path:
    """Create the folder if it is missing. Raises :class:`ImproperlyConfigured` if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "Not a directory" if folder.exists() else error.strerror
        raise ImproperlyConfigured(f"DATA_DIR {folder} cannot be written: {why}.") from error
    return folder


def restrict_access(path: Path, mode: int) -> None:
    """Set the mode of a path if this user owns it. Shared (sticky) directories such as /tmp are not changed."""
    with suppress(OSError):
        status = path.stat()
        if status.st_uid == os.getuid() and not status.st_mode & stat.S_ISVTX:
            path.chmod(mode)


def load_or_create_key(folder: Path) -> str:
    """Return this machine's secret key; the first call generates it. Several processes may call it at once."""
    file = make_writable(folder) / "secret_key"
    if not file.exists():
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(secrets.token_urlsafe(50))
        with suppress(FileExistsError):  # another process created it first
            os.link(draft, file)
        draft.unlink()
    return file.read_text()

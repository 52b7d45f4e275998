"""The data directory and what is kept in it: nobody's to read but its owner's."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def writable(folder: Path) -> Path:
    """The folder, made if need be; one clear line if that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "Not a directory" if folder.exists() else error.strerror
        raise ImproperlyConfigured(f"DATA_DIR {folder} cannot be written: {why}.") from error
    return folder


def private(path: Path, mode: int) -> None:
    """Nobody else's to read, if it is there and ours; a directory that all may write in, such as /tmp, is nobody's."""
    with suppress(OSError):
        found = path.stat()
        if found.st_uid == os.getuid() and not found.st_mode & stat.S_ISVTX:
            path.chmod(mode)


def kept_key(folder: Path) -> str:
    """A secret key of this machine's own, made once and kept there."""
    file = writable(folder) / "secret_key"
    if not file.exists():
        made = file.with_suffix(f".{os.getpid()}")
        made.write_text(secrets.token_urlsafe(50))
        with suppress(FileExistsError):  # another process was quicker
            os.link(made, file)
        made.unlink()
    return file.read_text()

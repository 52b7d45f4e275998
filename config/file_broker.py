"""File broker with atomic writes: with kombu's own, a reader can meet an empty message and crash."""

import os
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """kombu's channel with atomic writes."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]  # as kombu's own does
        """Write the message under a temporary name, then rename it."""
        folder, unique = Path(self.data_folder_out), uuid4()
        draft = folder / f"{unique}.draft"
        draft.write_text(dumps(payload))
        os.replace(draft, folder / f"{time.time_ns():020}_{unique}.{queue}.msg")  # readers sort by name: oldest first


class Transport(filesystem.Transport):
    """Named in the settings as the transport of ``filesystem://``."""

    Channel = Channel
    #: Seconds between two polls of an empty folder.
    polling_interval = 0.25
    #: There is no host; without this, kombu would warn that none is set.
    default_connection_params: dict[str, Any] = {}

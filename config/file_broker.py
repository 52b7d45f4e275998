"""kombu's file broker with atomic writes: without them, a worker may read an empty message and crash."""

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
    """The transport of ``filesystem://``, set as ``CELERY_BROKER_TRANSPORT``."""

    Channel = Channel
    #: Seconds between two polls of an empty folder.
    polling_interval = 0.25
    #: A file broker has no host. Without this setting, kombu would warn about the missing host.
    default_connection_params: dict[str, Any] = {}

"""The file broker, with messages that appear whole: kombu's own lets a reader meet one that is still empty, and die."""

import os
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """kombu's, but for how a message is written."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]  # as kombu's own does
        """Write it under a name that no reader looks for, then give it its own."""
        folder, unique = Path(self.data_folder_out), uuid4()
        draft = folder / f"{unique}.draft"
        draft.write_text(dumps(payload))
        os.replace(draft, folder / f"{time.time_ns():020}_{unique}.{queue}.msg")  # readers go by name: oldest first


class Transport(filesystem.Transport):
    """Named in the settings as the transport of ``filesystem://``."""

    Channel = Channel
    #: Seconds between two looks into an empty folder: an idle thread joins in as soon.
    polling_interval = 0.25
    #: It is on no host; kombu would warn that none was named.
    default_connection_params: dict[str, Any] = {}

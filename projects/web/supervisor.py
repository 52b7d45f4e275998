"""The processes of the site on one machine, begun and ended together: web server, worker and beat."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from django.conf import settings

from .polling import wait_while

#: Seconds for which a web server that is told to end lets answers go on that are being written.
GRACE_SECONDS = 30
#: Seconds after which a process that was told to end is killed: a worker finishes the chats that it has asked about,
#: each within LLM_TIMEOUT × (LLM_MAX_RETRIES + 1).
PATIENCE_SECONDS = 150
#: Between two looks at whether all processes are running.
POLL_SECONDS = 0.5


def serve(address: str) -> int:
    """Run them at ``address`` (host:port) until told to end, or until one of them ends; what the first exited with.

    They share this machine's own key where none is set. SIGTERM and SIGINT are passed on and waited for.
    """
    environment = {**os.environ, "SECRET_KEY": settings.SECRET_KEY}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    processes = [subprocess.Popen([sys.executable, *command], env=environment) for command in commands(address)]
    try:
        wait_while(lambda: all(process.poll() is None for process in processes), seconds=POLL_SECONDS)
        return next(process.returncode for process in processes if process.returncode is not None) or 1
    except KeyboardInterrupt:
        return 0
    finally:
        _end(processes)


def commands(address: str) -> list[list[str]]:
    """What Python is to run: the web server, and the worker with beat in it."""
    host, _, port = address.rpartition(":")
    web = ["-m", "uvicorn", "config.asgi:application", "--host", host.strip("[]"), "--port", port]
    worker = ["-m", "celery", "-A", "config", "worker", "-B", "--pool", "threads", "--concurrency", "4"]
    return [[*web, "--timeout-graceful-shutdown", str(GRACE_SECONDS)], [*worker, "--loglevel", "WARNING"]]


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """All of them, at the same time."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + PATIENCE_SECONDS
    for process in processes:
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):  # told twice: at once
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        process.kill()

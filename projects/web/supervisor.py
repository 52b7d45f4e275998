"""Run the site's processes on one machine together: web server, worker and beat."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import create_connection

from django.conf import settings

from .polling import wait_while

#: How long a stopping web server lets answers in progress continue.
WEB_GRACE_SECONDS = 30
#: A stopping process is killed after this: a worker finishes the chats in progress, each within
#: LLM_TIMEOUT × (LLM_MAX_RETRIES + 1).
KILL_AFTER_SECONDS = 150
PROCESS_POLL_SECONDS = 0.5


def serve(address: str, when_up: Callable[[], None] = lambda: None) -> int:
    """Run them at ``address`` (host:port) until a signal arrives or one of them ends; returns that one's exit code.

    If SECRET_KEY is not set, they share this machine's generated key. SIGTERM and SIGINT stop all of them.
    ``when_up`` is called once the web server accepts connections.
    """
    # They find the site from any directory, as this process did.
    path = os.pathsep.join(filter(None, (str(settings.BASE_DIR), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "SECRET_KEY": settings.SECRET_KEY, "PYTHONPATH": path}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    processes = [subprocess.Popen([sys.executable, *command], env=environment) for command in commands(address)]

    def run() -> bool:
        return all(process.poll() is None for process in processes)

    try:
        wait_while(lambda: run() and not is_taken(address), seconds=PROCESS_POLL_SECONDS)
        if run():
            when_up()
        wait_while(run, seconds=PROCESS_POLL_SECONDS)
        return next(process.returncode for process in processes if process.returncode is not None) or 1
    except KeyboardInterrupt:
        return 0
    finally:
        _end(processes)


def is_taken(address: str) -> bool:
    """Whether something accepts connections at ``address``."""
    host, _, port = address.rpartition(":")
    with suppress(OSError), create_connection((host.strip("[]"), int(port)), timeout=1):
        return True
    return False


def commands(address: str) -> list[list[str]]:
    """The Python arguments of the web server, and of the worker with beat."""
    host, _, port = address.rpartition(":")
    web = ["-m", "uvicorn", "config.asgi:application", "--host", host.strip("[]"), "--port", port, "--no-access-log"]
    # No banner, and no warning in a container, where everything runs as root: no message holds code that could run.
    celery = ["-W", "ignore:You're running the worker", "-m", "celery", "--quiet", "-A", "config"]
    worker = [*celery, "worker", "-B", "--pool", "threads", "--concurrency", "4", "--loglevel", "WARNING"]
    return [[*web, "--timeout-graceful-shutdown", str(WEB_GRACE_SECONDS)], worker]


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Stop all processes at the same time."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + KILL_AFTER_SECONDS
    for process in processes:
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C kills at once
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        process.kill()

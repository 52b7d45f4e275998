"""Run all processes of the site on one machine: web server, worker and beat."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import create_connection

from django.conf import settings

from projects.web.polling import wait_while

#: How long the web server lets answers in progress continue when it is stopped.
WEB_GRACE_SECONDS = 30
#: A process that is still running this long after SIGTERM is killed. A worker first finishes the chats in progress,
#: each within LLM_TIMEOUT × (LLM_MAX_RETRIES + 1).
KILL_AFTER_SECONDS = 150
PROCESS_POLL_SECONDS = 0.5


def serve(address: str, when_up: Callable[[], None] = lambda: None) -> int:
    """Run all processes until a signal arrives or one of them ends; return that process's exit code.

    ``address`` is host:port. SIGTERM and SIGINT stop all processes. If SECRET_KEY is not set, the processes share this
    machine's generated key. ``when_up`` is called once the web server accepts connections.
    """
    # With this path, the processes can import the site from any working directory, as this process did.
    path = os.pathsep.join(filter(None, (str(settings.BASE_DIR), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "SECRET_KEY": settings.SECRET_KEY, "PYTHONPATH": path}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    processes = [subprocess.Popen([sys.executable, *command], env=environment) for command in commands(address)]

    def all_are_running() -> bool:
        return all(process.poll() is None for process in processes)

    try:
        wait_while(lambda: all_are_running() and not is_taken(address), seconds=PROCESS_POLL_SECONDS)
        if all_are_running():
            when_up()
        wait_while(all_are_running, seconds=PROCESS_POLL_SECONDS)
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
    # Suppress the banner, and the warning about running as root, as containers do: no message contains code to run.
    celery = ["-W", "ignore:You're running the worker", "-m", "celery", "--quiet", "-A", "config"]
    worker = [*celery, "worker", "-B", "--pool", "threads", "--concurrency", "4", "--loglevel", "WARNING"]
    return [[*web, "--timeout-graceful-shutdown", str(WEB_GRACE_SECONDS)], worker]


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Stop all processes at the same time; kill those that do not end in time."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + KILL_AFTER_SECONDS
    for process in processes:
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C kills at once
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        process.kill()

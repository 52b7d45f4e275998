"""Run eight writer and two summariser processes at once: tests.support.concurrent_writers PROJECT TURNS."""

import os
import select
import sys
import traceback
from collections.abc import Callable
from functools import partial

import django

WRITERS, CHATS = 8, 3


def write(path: str, writer: int, turns: int) -> None:
    """Record ``turns`` turns in the chats that all writers share."""
    from memorybank import services
    from projects.models import Project

    bank = Project.objects.at(path).get().bank
    for turn in range(turns):
        key = f"writer {writer}, turn {turn}"
        question = f"Writer number {writer} decided in turn {turn} that the harbour crane must be painted again."
        services.record(bank, chat_key=f"chat {turn % CHATS}", author="Ann", question=question, answer="Yes.", key=key)


def summarise(closed: int) -> None:
    """Run due work repeatedly, until the other end of the pipe is closed."""
    from memorybank import services

    while True:
        report = services.run(until_idle=True)
        assert not report.failed, report
        if select.select([closed], [], [], 0.05)[0]:
            return


def child(work: Callable[[], object]) -> int:
    """Do the work in a forked process, which exits with 1 if the work fails; return the process id."""
    if pid := os.fork():
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main(path: str, turns: int) -> int:
    """Run all processes and return the number of those that failed."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    reading, writing = os.pipe()

    def beginning(work: Callable[[], None]) -> int:
        return child(lambda: (os.close(writing), work()))

    summarisers = [beginning(lambda: summarise(reading)) for _ in range(2)]
    writers = [beginning(partial(write, path, number, turns)) for number in range(WRITERS)]
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in writers)
    os.close(writing)
    return failed + sum(os.waitpid(pid, 0)[1] != 0 for pid in summarisers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))

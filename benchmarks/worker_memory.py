"""Peak memory of a worker that summarises a chat of 10 MB, without a model and with one.

Command: python -m benchmarks worker_memory

Each case is a process of its own, compared with a process that summarises an empty chat. Memory should grow with a batch (a
million characters), not with the chat, so a chat of half the size is measured too. There is no other target.
"""

import argparse
import os
import resource
import subprocess
import sys

from memorybank import services
from tests.support.openai_server import OpenAIServer

from . import scratch, seeding
from .measuring import Measurement, show

CHAT_MEGABYTES = 10
TURNS_PER_MEGABYTE = 4
#: Characters of a sentence of 14 words of the sample, with its space.
SENTENCE_CHARACTERS = 84


def measure() -> list[Measurement]:
    """Peak resident memory of each case over that of the empty one."""
    with OpenAIServer(keep=1) as server:
        cases = {
            "empty": _peak(0),
            f"{CHAT_MEGABYTES // 2} MB, no model": _peak(CHAT_MEGABYTES // 2),
            f"{CHAT_MEGABYTES} MB, no model": _peak(CHAT_MEGABYTES),
            f"{CHAT_MEGABYTES} MB, with a model": _peak(CHAT_MEGABYTES, server.base_url),
        }
    base = cases["empty"]
    rows = [Measurement("an empty chat, MB", f"{base:.0f}")]
    for name, peak in list(cases.items())[1:]:
        rows.append(Measurement(f"{name}, MB more", f"{peak - base:.0f}"))
        rows.append(Measurement(f"{name}, over the empty one", f"{peak / base:.2f} ×"))
    return rows


def _peak(megabytes: int, base_url: str = "") -> float:
    """Megabytes of the child process at its peak."""
    command = [sys.executable, "-m", "benchmarks.worker_memory", "--megabytes", str(megabytes), "--model", base_url]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": "."})
    return float(done.stdout.split()[-1])


def _work(megabytes: int, base_url: str) -> float:
    """In the child: record the chat turn by turn, summarise it, and tell the peak."""
    options = {"LLMS": scratch.model(base_url)} if base_url else {}
    with scratch.database(**options):
        bank = seeding.bank()
        words = 1_000_000 // TURNS_PER_MEGABYTE // SENTENCE_CHARACTERS * 14
        seeding.chat_of(bank, turns=max(1, megabytes * TURNS_PER_MEGABYTE), words=words if megabytes else 28)
        report = services.run(bank=bank, until_idle=True)
        if report.failed or report.due:
            raise SystemExit(f"not everything was summarised: {report}")
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def main() -> None:
    """The benchmark, or (with ``--megabytes``) one case in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, help="run this case only and print its peak")
    parser.add_argument("--model", default="", help="base URL of an OpenAI-compatible server")
    options = parser.parse_args()
    if options.megabytes is None:
        show(str(__doc__).splitlines()[0], measure())
    else:
        print(_work(options.megabytes, options.model))


if __name__ == "__main__":
    main()

"""python -m benchmarks [NAME…]: run the benchmarks that need nothing but this repository, and print their table."""

import argparse
from importlib import import_module

from .measuring import seconds, show

NAMES = (
    "chat_path",
    "long_chat",
    "importing",
    "throughput",
    "turn_cost",
    "parallel_calls",
    "rendering",
    "replacing",
    "erasing",
    "compacting",
    "stability",
    "standing",
    "replay_calls",
    "worker_memory",
    "recall",
    "governed",
)


def main() -> None:
    """Run the named benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: {' '.join(NAMES)}")
    names = parser.parse_args().names or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"{unknown[0]}: no such benchmark; one of {', '.join(NAMES)}")
    for name in names:
        _run(name)


def _run(name: str) -> None:
    module = import_module(f".{name}", __package__)
    headline = (module.__doc__ or name).splitlines()[0]
    spent = seconds(lambda: show(f"{name}: {headline}", module.measure()))
    print(f"  ({spent:.0f} s)", flush=True)


if __name__ == "__main__":
    main()

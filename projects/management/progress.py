"""A progress bar for replays."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from tqdm import tqdm

from memorybank.services import Bank, RunReport
from projects.importing.jsonl import ImportLine
from projects.importing.replay import replay


def replay_with_progress_bar(
    lines: Sequence[ImportLine], *, step: timedelta, prepare: Callable[[Bank], None]
) -> RunReport:
    """:func:`replay`, with a bar of the turns recorded and the date of the simulated clock."""
    with tqdm(total=len(lines), unit=" turns", disable=None, leave=False) as bar:

        def progress(clock: datetime, recorded: int) -> None:
            bar.set_postfix_str(f"{clock:%d %b %Y}", refresh=False)
            bar.update(recorded - bar.n)

        return replay(lines, step=step, prepare=prepare, progress=progress)

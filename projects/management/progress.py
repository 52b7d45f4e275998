"""A progress bar for replays."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from tqdm import tqdm

from memorybank.services import Bank, RunReport
from projects.importing.jsonl import ImportLine
from projects.importing.replay import replay


def replay_with_progress_bar(
    lines: Sequence[ImportLine],
    *,
    step: timedelta,
    prepare: Callable[[Bank, datetime], None],
    without_terminal: Callable[[str], object] = lambda line: None,
) -> RunReport:
    """Call :func:`replay`, with a progress bar of recorded turns and the date of the simulated clock.

    If standard error is not a terminal, as in a container, ``without_terminal`` is called with a line at each tenth.
    """
    tenth = 0
    with tqdm(total=len(lines), unit=" turns", disable=None, leave=False) as bar:

        def progress(clock: datetime, recorded: int) -> None:
            nonlocal tenth
            bar.set_postfix_str(f"{clock:%d %b %Y}", refresh=False)
            bar.update(recorded - bar.n)
            if bar.disable and (tenths := 10 * recorded // len(lines)) > tenth:
                tenth = tenths
                without_terminal(f"{tenth}0 %  {clock:%d %b %Y}")

        return replay(lines, step=step, prepare=prepare, progress=progress)

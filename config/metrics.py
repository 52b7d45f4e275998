"""Figures in the text format that Prometheus reads.

No client library: it counts inside a process, and there are several, each with its own; ours are in the database, the
same whichever process answers. What is left of it would be these few lines.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from memorybank.services import HealthMetrics

Sample = tuple[dict[str, str], float | Decimal]


def exposition(vitals: HealthMetrics) -> str:
    """The page. Labels come from closed lists; no tenant, project, chat or person is among them.

    Counters begin anew at midnight (UTC), as if a process had started again: ``rate`` and ``increase`` know that.
    """
    return "".join(f"{line}\n" for line in (*_gauges(vitals), *_counters(vitals)))


def _gauges(vitals: HealthMetrics) -> Iterator[str]:
    yield from _family("chats_due", "gauge", "Chats that wait to be summarised.", [({}, vitals.due)])
    yield from _family("chats_failing", "gauge", "Chats that failed and will be tried again.", [({}, vitals.failing)])
    yield from _family("chats_parked", "gauge", "Chats that wait for a person.", [({}, vitals.parked)])
    yield from _family("lag_seconds", "gauge", "For how long a chat has been due.", [({}, vitals.lag_seconds)])
    waited = "For how long a block has waited to be made anew."
    yield from _family("block_age_seconds", "gauge", waited, [({}, vitals.block_seconds)])
    down = "Models that back off after a failure."
    yield from _family("endpoints_down", "gauge", down, [({}, vitals.endpoints_down)])
    if vitals.last_sweep:
        swept = vitals.last_sweep.timestamp()
        yield from _family("last_sweep_timestamp_seconds", "gauge", "When the last sweep was.", [({}, swept)])


def _counters(vitals: HealthMetrics) -> Iterator[str]:
    calls = [({"purpose": each.purpose, "outcome": each.outcome}, each) for each in vitals.calls]
    failed = [({**labels}, each.calls) for labels, each in calls if each.outcome != "ok"]
    yield from _family("calls_total", "counter", "Calls of models.", [(labels, each.calls) for labels, each in calls])
    yield from _family("failures_total", "counter", "Calls that gave nothing.", failed)
    for kind in ("prompt", "completion"):
        samples: list[Sample] = [(labels, getattr(each, f"{kind}_tokens")) for labels, each in calls]
        yield from _family(f"{kind}_tokens_total", "counter", f"{kind.capitalize()} tokens.", samples)
    yield from _family("cost_total", "counter", "What calls cost.", [(labels, each.cost) for labels, each in calls])
    skipped = [({"reason": reason}, count) for reason, count in vitals.prompts.items() if reason != "given"]
    given: list[Sample] = [({}, vitals.prompts["given"])]
    yield from _family("injected_total", "counter", "Prompts that were given memory.", given)
    yield from _family("skipped_total", "counter", "Prompts that were given none.", skipped)


def _family(name: str, kind: str, what: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP memorybank_{name} {what}"
    yield f"# TYPE memorybank_{name} {kind}"
    for labels, value in samples:
        shown = ",".join(f'{label}="{text}"' for label, text in labels.items())
        yield f"memorybank_{name}{{{shown}}} {value}" if shown else f"memorybank_{name} {value}"

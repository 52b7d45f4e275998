"""Metrics in Prometheus text format.

The Prometheus client library is not used: it counts within one process, and the site has several. These values come
from the database and are the same in every process, so only the formatting is needed here.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from memorybank.services import HealthMetrics

Sample = tuple[dict[str, str], float | Decimal]


def exposition(vitals: HealthMetrics) -> str:
    """The metrics page. Label values come from fixed lists and never name a tenant, project, chat or person.

    Counters restart at midnight UTC; Prometheus' ``rate`` and ``increase`` treat that like a process restart.
    """
    return "".join(f"{line}\n" for line in (*_gauges(vitals), *_counters(vitals)))


def _gauges(vitals: HealthMetrics) -> Iterator[str]:
    yield from _family("chats_due", "gauge", "Chats that wait to be summarised.", [({}, vitals.due)])
    yield from _family("chats_failing", "gauge", "Chats that failed and will be tried again.", [({}, vitals.failing)])
    yield from _family("chats_parked", "gauge", "Chats that wait for a person.", [({}, vitals.parked)])
    yield from _family("lag_seconds", "gauge", "How long the oldest due chat has waited.", [({}, vitals.lag_seconds)])
    waited = "How long a block has waited for its update."
    yield from _family("block_age_seconds", "gauge", waited, [({}, vitals.block_seconds)])
    down = "Models that back off after a failure."
    yield from _family("endpoints_down", "gauge", down, [({}, vitals.endpoints_down)])
    if vitals.last_sweep:
        swept = vitals.last_sweep.timestamp()
        yield from _family("last_sweep_timestamp_seconds", "gauge", "When the last sweep was.", [({}, swept)])


def _counters(vitals: HealthMetrics) -> Iterator[str]:
    calls = [({"purpose": call.purpose, "outcome": call.outcome}, call) for call in vitals.calls]
    failed = [({**labels}, call.calls) for labels, call in calls if call.outcome != "ok"]
    yield from _family("calls_total", "counter", "Model calls.", [(labels, call.calls) for labels, call in calls])
    yield from _family("failures_total", "counter", "Model calls that failed.", failed)
    for kind in ("prompt", "completion"):
        samples: list[Sample] = [(labels, getattr(call, f"{kind}_tokens")) for labels, call in calls]
        yield from _family(f"{kind}_tokens_total", "counter", f"{kind.capitalize()} tokens.", samples)
    yield from _family("cost_total", "counter", "Cost of model calls.", [(labels, call.cost) for labels, call in calls])
    skipped = [({"reason": reason}, count) for reason, count in vitals.prompts.items() if reason != "given"]
    given: list[Sample] = [({}, vitals.prompts["given"])]
    yield from _family("injected_total", "counter", "Prompts with memory.", given)
    yield from _family("skipped_total", "counter", "Prompts without memory.", skipped)


def _family(name: str, kind: str, what: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP memorybank_{name} {what}"
    yield f"# TYPE memorybank_{name} {kind}"
    for labels, value in samples:
        shown = ",".join(f'{label}="{text}"' for label, text in labels.items())
        yield f"memorybank_{name}{{{shown}}} {value}" if shown else f"memorybank_{name} {value}"

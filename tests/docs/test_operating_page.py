"""docs/operating.md is true: its examples run, and its names and numbers are those of the code."""

import importlib.util
import re
import shlex
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from celery.bin.beat import beat
from celery.bin.worker import worker
from django.core.management import get_commands
from django.urls import resolve

from config import health
from config.metrics import exposition
from memorybank import conf, services
from memorybank.models import Job
from memorybank.monitoring.health import CallTotals, HealthMetrics
from projects.management import supervisor
from projects.templatetags.project_tabs import TAB_OF_MODEL
from tests.docs.test_docs import OUR_COMMANDS, environment, parser_of, rows
from tests.support.cast import Cast, without_models
from tests.support.commands import ROOT, run
from tests.support.factories import say

PAGE = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
WORDS = " ".join(PAGE.split())
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.S))))
#: What stands in capitals and is not read by our settings: by uvicorn, the compiler's cache, the system, containers.
OTHERS = {
    "WEB_CONCURRENCY",
    "FORWARDED_ALLOW_IPS",
    "XDG_CACHE_HOME",
    "SIGTERM",
    "POSTGRES_PASSWORD",
    "OTEL_SERVICE_NAME",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
}


def examples() -> list[list[str]]:
    """Every command of ours that the page shows, and does not only name: in a shell's block, or as code in a line."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) for line in block.splitlines()]
    asked = [shlex.split(line, comments=True) for line in (*lines, *SPANS) if line.isprintable() and '"' not in line]
    ours = [words[2:] if words[:2] == ["python", "manage.py"] else words for words in asked if words]
    assert all(line.startswith("python manage.py ") for line in lines), "say here how it is run"
    ours = [words for words in ours if words[0] in OUR_COMMANDS - {"serve"}]  # which runs until it is told to end
    return [words for words in ours if len(words) > 1 or not _wants(words[0])]


def _wants(command: str) -> bool:
    """Whether it does nothing without an argument."""
    return any(action.required for action in parser_of(command)._actions)


@without_models
class ExamplesTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        services.enable(self.apollo.bank, actor="alice", disclosure_accepted=True)
        self.waits()

    def waits(self) -> None:
        """Something to do, so that no example is refused for want of it."""
        for number, key in enumerate(("K", "other")):
            say(self.apollo.bank, key, f"We chose Postgres 16 for part {number}.", at=datetime.now(UTC))

    def test_every_example_does_what_it_says(self) -> None:
        commands = examples()
        self.assertGreater(len(commands), 8)
        for words in commands:
            with self.subTest(example=" ".join(words)):
                self.waits()
                ran = run(*("acme/apollo" if word == "T/P" else word for word in words))
                self.assertEqual((ran.code, ran.err), (0, ""))
        done = {(kind, 100) for kind in ("summarise", "rebuild", "retry")}
        self.assertEqual(set(Job.objects.values_list("kind", "percent")), done)


def test_every_command_named_exists() -> None:
    for span in SPANS:
        words = span.split()
        if words[:2] == ["python", "manage.py"]:
            assert words[2] in get_commands(), span
        elif words[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(words[2]), span
        elif "_" in span and words[0] in OUR_COMMANDS:
            assert words[0] in get_commands()


def test_the_options_of_worker_and_beat_exist() -> None:
    known = {option for command in (worker, beat) for parameter in command.params for option in parameter.opts}
    commands = [span for span in SPANS if span.startswith("celery ")]
    assert len(commands) == 3
    for command in commands:
        assert set(re.findall(r"(?<= )--?[\w-]+", command)) - {"-A"} <= known, command


def test_every_setting_named_is_read() -> None:
    known = {*environment(), *(name.upper() for name, _ in conf.numeric_settings()), *OTHERS}
    named = {re.split(r"[=/ ]", span)[0] for span in SPANS if re.match(r"[A-Z]{2}[A-Z_]+(?:[=/ ]|$)", span)}
    assert len(named) > 12
    assert named <= known


def test_the_metrics_it_names_are_those_that_are_served() -> None:
    moment, call = datetime.now(UTC), CallTotals("summary", "rejected", 1, 1, 1, Decimal())
    everything = HealthMetrics(1, 1, 1, 1.0, 1.0, 1, moment, {"given": 1, "off": 1, "nothing": 1}, (call,))
    exposed = set(re.findall(r"^# TYPE (\w+)", exposition(everything), re.M))
    assert {name for cells in rows(PAGE) for name in re.findall(r"`(memorybank_\w+)`", cells[0])} == exposed


def test_its_addresses_answer_and_name_what_may_be_missing() -> None:
    for cells in rows(PAGE):
        if re.fullmatch(r"`/\w+`", cells[0]):
            assert resolve(cells[0].strip("`")).func.__module__ == "config.health"
    for name in ("database", "broker", "sweep"):
        assert f"`{name}`" in PAGE
    assert "five times `SWEEP_SECONDS`" in WORDS and health.MISSED_SWEEPS == 5
    assert f"up to {health.BROKER_TIMEOUT_SECONDS} seconds" in WORDS


def minutes(seconds: float) -> str:
    return f"{timedelta(seconds=seconds) / timedelta(minutes=1):g}"


@pytest.mark.parametrize("name", ["settings", "server"])
def test_numbers_on_the_operating_page_are_those_of_the_code(name: str) -> None:
    now = conf.Conf()
    fields = {
        "settings": [
            f"has {now.due_after_turns} waiting turns",
            f"exceeds the budget × {now.pressure}",
            f"`REFRESH_SECONDS` ({now.refresh_seconds})",
            f"`LEASE_SECONDS` ({minutes(now.lease_seconds)} minutes)",
            f"After {now.max_attempts} attempts it is **parked**",
            f"{minutes(now.backoff_seconds)} minute, 2, 4 … {now.backoff_max_seconds // 3600} hour",
        ],
        "server": [
            f"--timeout-graceful-shutdown {supervisor.WEB_GRACE_SECONDS}`",
            f"go on for {supervisor.WEB_GRACE_SECONDS} seconds",
            f"waits for up to {supervisor.KILL_AFTER_SECONDS} seconds",
        ],
    }
    for words in fields[name]:
        assert words in WORDS, words


def test_it_names_the_tabs_and_the_buttons_as_they_are() -> None:
    assert f"tabs: {', '.join(dict.fromkeys(['Settings', 'Memory', *map(str, TAB_OF_MODEL.values())]))}." in WORDS
    for kind in Job.Kind:
        assert f"**{kind.label.lower()}**" in WORDS

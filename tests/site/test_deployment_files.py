"""What the repository ships for deploying: units, image, compose file and proxy are what docs/operating.md says."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from celery.bin.beat import beat
from celery.bin.worker import worker
from compose_spec import PyCompose, PyOptions

from projects.management import supervisor
from tests.support.commands import PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.gateway_site import free_port
from tests.support.requirements import needs_systemd, only_in_ci

UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
SHARED = ROOT / "deploy/systemd/memorybank-.service.d/common.conf"
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")


def composed(text: str = COMPOSE) -> PyCompose:
    options = PyOptions(apply_merge=True).from_yaml(text)
    options.validate()
    return options


def services() -> dict[str, Any]:
    containers: dict[str, Any] = composed().to_dict()["services"]
    return containers


def started() -> Iterator[list[str]]:
    """Every command that units, image and compose file start."""
    for unit in UNITS:
        [line] = re.findall(r"^ExecStart=/opt/memorybank/\.venv/bin/(.+)$", unit.read_text(encoding="utf-8"), re.M)
        yield shlex.split(line)
    yield from (json.loads(line) for line in re.findall(r"^CMD (\[.+\])$", IMAGE, re.M))
    yield from (service["command"] for service in services().values() if "command" in service)


# --- commands ------------------------------------------------------------------------------------


def test_all_that_is_started_is_there_with_its_options() -> None:
    known = {option for command in (worker, beat) for parameter in command.params for option in parameter.opts} | {"-A"}
    served = {option for param in uvicorn.main.params for option in (*param.opts, *param.secondary_opts)}
    options = {"celery": known, "uvicorn": served}
    programs = set()
    for program, *words in started():
        programs.add(program)
        if program in options:
            given = {word.partition("=")[0] for word in words if word.startswith("-")}
            assert given <= options[program], words
    assert programs == {"celery", "uvicorn", "python", "redis-server"}


def test_each_is_given_as_long_to_end_as_it_takes() -> None:
    grace, patience = supervisor.WEB_GRACE_SECONDS, supervisor.KILL_AFTER_SECONDS
    for words in started():
        if words[0] == "uvicorn":
            assert words[words.index("--timeout-graceful-shutdown") + 1] == str(grace)
    waits = {unit.stem: re.findall(r"^TimeoutStopSec=(\d+)", unit.read_text(encoding="utf-8"), re.M) for unit in UNITS}
    assert int(waits["memorybank-web"][0]) > grace
    assert int(waits["memorybank-worker"][0]) > patience
    containers = services()
    assert (containers["web"]["stop_grace_period"], containers["worker"]["stop_grace_period"]) == ("40s", "2m40s")


# --- systemd -------------------------------------------------------------------------------------


def test_systemd_takes_the_units_and_finds_them_closed(tmp_path: Path) -> None:
    analyze = needs_systemd()
    shutil.copytree(ROOT / "deploy/systemd", tmp_path, dirs_exist_ok=True)
    for unit in tmp_path.glob("*.service"):  # it looks whether the programs are there
        text = unit.read_text(encoding="utf-8")
        unit.write_text(text.replace("/opt/memorybank/.venv/bin", str(Path(sys.executable).parent)), encoding="utf-8")
    units = [str(unit) for unit in sorted(tmp_path.glob("*.service"))]
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    fields = {
        "env": environment,
        "capture_output": True,
        "text": True,
        "timeout": PROCESS_TIMEOUT_SECONDS,
        "check": False,
    }
    ran = subprocess.run([analyze, "verify", "--man=no", *units], **fields)
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = subprocess.run([analyze, "security", "--offline=true", "--threshold=20", "--no-pager", *units], **fields)
    assert ran.returncode == 0, ran.stdout  # 2.0 of 10 at most


def test_units_share_what_they_may_not_do() -> None:
    shared = SHARED.read_text(encoding="utf-8")
    for line in ("User=memorybank", "ProtectSystem=strict", "NoNewPrivileges=true", "CapabilityBoundingSet="):
        assert re.search(rf"^{re.escape(line)}$", shared, re.M), line
    assert not any("Protect" in unit.read_text(encoding="utf-8") for unit in UNITS)


# --- containers ----------------------------------------------------------------------------------


def test_the_compose_file_keeps_to_the_specification() -> None:
    assert composed().service_names() == ["postgres", "redis", "migrate", "web", "worker", "beat"]


def test_no_container_may_take_all_memory() -> None:
    assert [name for name, service in services().items() if not service.get("mem_limit")] == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("healthcheck:\n      test: [CMD, redis", "healthchek:\n      test: [CMD, redis"),
        ("restart: unless-stopped", "restart: sometimes"),
        ("condition: service_healthy", "condition: healthy"),
        ("interval: 5s", "interval: soon"),
        ("- cache:/cache", "- caches:/cache"),
    ],
)
def test_the_check_finds_what_is_wrong(right: str, wrong: str) -> None:
    assert right in COMPOSE
    with pytest.raises(ValueError):
        composed(COMPOSE.replace(right, wrong))


def test_everything_waits_for_what_it_needs_and_says_whether_it_is_well() -> None:
    containers = services()
    for name, service in containers.items():
        for needed, how in service.get("depends_on", {}).items():
            once = how["condition"] == "service_completed_successfully"
            assert once or containers[needed]["healthcheck"].get("test"), (
                f"{name} waits for {needed}, which does not say"
            )
    assert {name for name in containers if "migrate" in containers[name].get("depends_on", {})} == {
        "web",
        "worker",
        "beat",
    }
    assert "HEALTHCHECK" in IMAGE
    assert containers["worker"]["healthcheck"]["test"]


def test_no_secret_is_written_down_and_none_has_a_default() -> None:
    for name, service in services().items():
        for variable, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|KEY|_URL", variable) and "redis://" not in value:
                assert re.search(r"\$\{\w+:\?", value), f"{name}: {variable}"
    assert not re.search(r"^(ENV|ARG) .*(KEY|PASSWORD|TOKEN)", IMAGE, re.M)


def test_it_runs_as_nobody_on_a_file_system_that_it_cannot_write() -> None:
    last_stage = IMAGE.split("\nFROM ")[-1]
    assert last_stage.index("\nUSER memorybank") < last_stage.index("\nCMD ")
    for name in ("web", "worker", "beat", "migrate"):
        service = services()[name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])


def sent_to_the_builder(target: Path) -> None:
    """Copy what .dockerignore lets through."""
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line.startswith("!"):
            source, copy = ROOT / line[1:], target / line[1:]
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy)


@only_in_ci
@pytest.mark.own_servers
def test_what_the_image_holds_serves_and_its_health_is_known(tmp_path: Path) -> None:
    app, data, port = tmp_path / "app", tmp_path / "data", str(free_port())
    sent_to_the_builder(app)
    env = {"PATH": os.environ["PATH"], "DATA_DIR": str(data), "SECRET_KEY": "of-no-use"}
    python = {"cwd": app, "timeout": PROCESS_TIMEOUT_SECONDS, "check": False, "capture_output": True, "text": True}
    collected = re.findall(r"^RUN SECRET_KEY=of-no-use python (.+)$", IMAGE, re.M)[0]
    assert subprocess.run([sys.executable, *shlex.split(collected)], env=env, **python).returncode == 0
    assert (app / "static").is_dir()
    assert not (data / "secret_key").exists()

    hosts = {"ALLOWED_HOSTS": ".example.com,memory.example.com", "HTTPS": "true"}
    production = {**env, **hosts, "SECRET_KEY": "of-this-test"}
    healthy = [sys.executable, "deploy/healthy.py", port]
    assert subprocess.run(healthy, env=production, **python).returncode == 1
    migrated = subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], env=production, **python)
    assert migrated.returncode == 0, migrated.stderr
    served = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", port, "--log-level", "warning"]
    with subprocess.Popen(served, cwd=app, env=production) as web:
        try:
            while subprocess.run(healthy, env=production, **python).returncode:
                assert web.poll() is None
        finally:
            web.terminate()

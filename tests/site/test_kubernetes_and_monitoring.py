"""What the repository ships for Kubernetes, Prometheus and Grafana fits the image, compose.yaml and /metrics."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.utils import timezone

from config.metrics import exposition
from memorybank import services
from tests.support.commands import ROOT

from .test_deployment_files import IMAGE
from .test_deployment_files import services as composed_services

KUBERNETES_VERSION = "1.37"
MANIFEST = yaml.safe_load((ROOT / "deploy/kubernetes/memorybank.yaml").read_text(encoding="utf-8"))
DASHBOARD = json.loads((ROOT / "deploy/grafana/memorybank.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text(encoding="utf-8"))
_METRIC = re.compile(r"memorybank_\w+")


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """The pod of each job and deployment, by the part it plays."""
    for item in MANIFEST["items"]:
        if template := item.get("spec", {}).get("template"):
            yield template["metadata"]["labels"]["part"], template["spec"]


def test_kubernetes_accepts_every_object() -> None:
    for item in MANIFEST["items"]:
        kubernetes_validate.validate(item, KUBERNETES_VERSION, strict=True)


@pytest.mark.parametrize(("path", "wrong"), [("replicas", "two"), ("stratgy", {"type": "Recreate"})])
def test_the_check_finds_what_is_wrong(path: str, wrong: object) -> None:
    broken = deepcopy(next(item for item in MANIFEST["items"] if item["kind"] == "Deployment"))
    broken["spec"][path] = wrong
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, KUBERNETES_VERSION, strict=True)


def test_pods_run_what_the_containers_of_compose_run_and_end_as_patiently() -> None:
    [served] = (json.loads(line) for line in re.findall(r"^CMD (\[.+\])$", IMAGE, re.M))
    containers = composed_services()
    for part, pod in pods():
        [container] = pod["containers"]
        assert container["command"] == containers[part].get("command", served)
    patience = {part: pod.get("terminationGracePeriodSeconds") for part, pod in pods()}
    assert (patience["web"], patience["worker"]) == (40, 160)  # 40s and 2m40s in compose.yaml


def test_pods_run_as_nobody_on_a_file_system_that_they_cannot_write_and_hold_no_secret() -> None:
    for part, pod in pods():
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsUser"] == 10001, part
        assert pod["automountServiceAccountToken"] is False
        closed = container["securityContext"]
        assert closed["readOnlyRootFilesystem"] and closed["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]
        assert {"secretRef": {"name": "memorybank"}} in container["envFrom"]
    settings = next(item["data"] for item in MANIFEST["items"] if item["kind"] == "ConfigMap")
    assert not [name for name in settings if re.search(r"SECRET|KEY|PASSWORD|_URL", name)]


@pytest.mark.django_db
def test_the_dashboard_shows_every_figure_and_alerts_ask_for_no_other() -> None:
    vitals = replace(services.health_metrics(), last_sweep=timezone.now())
    exposed = set(re.findall(r"^# TYPE (memorybank_\w+)", exposition(vitals), re.M))
    targets = [target for panel in DASHBOARD["panels"] for target in panel["targets"]]
    shown = {name for target in targets for name in _METRIC.findall(target["expr"])}
    asked = {name for rule in ALERTS["groups"][0]["rules"] for name in _METRIC.findall(rule["expr"])}
    assert shown == exposed
    assert asked and asked <= exposed

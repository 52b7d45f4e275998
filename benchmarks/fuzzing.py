"""Send thousands of generated requests, valid and invalid by the API's description; no answer may be a 500.

    python -m benchmarks.fuzzing [REQUESTS] [--seed N]

Schemathesis makes them up; half of those that name something name what is there, so that they come through. Each answer
is held against the description: its status, its kind, its schema. Prints what was answered, and every fault.
"""

import argparse
import json
import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from django.core.wsgi import get_wsgi_application
from django.test.utils import override_settings
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks

from memorybank import services
from memorybank.models import Bank, Entry, Fact, Job, Output
from memorybank.services import PublicId
from projects.api.openapi import openapi_document
from projects.api.urls import api
from projects.models import Project, Scope, Tenant
from projects.tenancy import api_keys

from .scratch import database
from .seeding import NOW

#: What each answer is held against.
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@dataclass
class Fuzzed:
    """How often what was answered, and what was wrong with an answer."""

    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def fuzz(document: Mapping[str, Any], key: str, *, real: Mapping[str, str], requests: int, number: int) -> Fuzzed:
    """About so many ``requests`` to every address of ``document``; ``real`` are values of parameters by their names.

    The same ``number`` makes up the same requests.
    """
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document)))
    schema.app = get_wsgi_application()
    operations = [operation.ok() for operation in schema.get_all_operations()]
    fuzzed = Fuzzed()
    for operation in operations:
        _ask(operation, key, real, -(-requests // len(operations)), number, fuzzed)
    return fuzzed


def _ask(operation: Any, key: str, real: Mapping[str, str], many: int, number: int, fuzzed: Fuzzed) -> None:
    modes = [operation.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)]

    def ask(case: Any, there: bool) -> None:
        if there:
            _name(case, real)
        answer = case.call(headers={"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"})
        fuzzed.statuses[answer.status_code] += 1
        try:
            case.validate_response(answer, checks=CHECKS)
        except FailureGroup as group:
            text = "; ".join(" ".join(str(exception).split())[:600] for exception in group.exceptions)
            fuzzed.faults.append(f"{operation.method.upper()} {operation.path}: {text} ({case.as_curl_command()})")

    profile = settings(
        max_examples=many,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(profile(given(st.one_of(modes), st.booleans())(ask)))()


def _name(case: Any, real: Mapping[str, str]) -> None:
    """Let the request be about what is there."""
    for part in (case.path_parameters, case.body):
        if isinstance(part, dict):
            part.update({name: real[name] for name in part if name in real})


def something_of_everything() -> tuple[str, dict[str, str]]:
    """A project that remembers something: a key for all of it, and what is there by the names of parameters."""
    tenant = Tenant.objects.create(slug="fuzzing", name="Fuzzing")
    bank = Bank.objects.create()
    project = Project.objects.create(tenant=tenant, slug="apollo", name="Apollo", bank=bank)
    services.enable(bank, actor="ann", disclosure_accepted=True, now=NOW)
    for chat in ("c-1", "c-2"):
        fields = {"question": "Billing runs on Postgres 16 from 17 May 2026.", "answer": "Noted.", "created_at": NOW}
        services.record(bank, chat_key=chat, author="ann", key="m-1", now=NOW, **fields)
    services.run(bank=bank, until_idle=True)
    job = services.request_job(bank, Job.Kind.SUMMARISE, actor="ann")
    services.run(bank=bank, until_idle=True)
    receipt = services.erase(bank, chat="c-2", actor="ann")
    output, fact, entry = Output.objects.get(), Fact.objects.latest("pk"), Entry.objects.latest("pk")
    key = api_keys.issue(project, "fuzzing", Scope.values, actor="ann", now=timezone.now())[1]
    rows = {"output": output.pk, "fact": fact.pk, "entry": entry.pk, "job": job.pk, "receipt": receipt.id or 0}
    return key, {"chat": "c-1", "author": "ann", **{name: PublicId().to_url(pk) for name, pk in rows.items()}}


def main() -> None:
    """Ask, and say what was answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", nargs="?", type=int, default=5_000, metavar="REQUESTS")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # each refusal is one
    with database(), override_settings(API_REQUESTS_PER_MINUTE=0):
        key, real = something_of_everything()
        began = time.monotonic()
        fuzzed = fuzz(openapi_document(api), key, real=real, requests=arguments.requests, number=arguments.seed)
    counted = ", ".join(f"{count:,} × {status}" for status, count in sorted(fuzzed.statuses.items()))
    print(f"{fuzzed.statuses.total():,} requests in {time.monotonic() - began:.0f} s: {counted}")
    print(f"{len(fuzzed.faults)} faults", *fuzzed.faults, sep="\n")


if __name__ == "__main__":
    main()

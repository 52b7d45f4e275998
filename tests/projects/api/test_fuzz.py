"""Fuzz the API with valid and invalid requests from its OpenAPI document: each response matches it."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import override_settings

from benchmarks.fuzzing import fuzz, something_of_everything
from projects.api.openapi import openapi_document
from projects.api.urls import api
from projects.tenancy.permissions import OPERATOR_METHODS, URL_SCOPES
from tests.support.cast import Cast, without_models

REQUESTS = 54  # for thousands: python -m benchmarks.fuzzing


@pytest.mark.long
@without_models
@override_settings(API_REQUESTS_PER_MINUTE=0)
class FuzzTest(Cast):
    def setUp(self) -> None:
        """Keep requests from closing the connection that holds the test's transaction, as Django's test client does."""
        super().setUp()
        for signal in (request_started, request_finished):
            signal.disconnect(close_old_connections)
            self.addCleanup(signal.connect, close_old_connections)

    def test_nothing_that_is_sent_breaks_anything(self) -> None:
        key, real = something_of_everything()
        real.pop("job")  # its events are followed until it ends
        fuzzed = fuzz(openapi_document(api), key, real=real, requests=REQUESTS, number=1)
        self.assertEqual(fuzzed.faults, [])
        self.assertGreaterEqual(fuzzed.statuses.total(), REQUESTS)
        self.assertGreaterEqual(fuzzed.statuses[200] + fuzzed.statuses[201], REQUESTS // 10)

    def test_the_description_names_every_address_and_its_references_lead_somewhere(self) -> None:
        document: Any = json.loads(json.dumps(openapi_document(api)))
        self.assertEqual(
            sum(len(methods) for methods in document["paths"].values()),
            sum(
                len(methods)
                for name, methods in (URL_SCOPES | OPERATOR_METHODS).items()
                if name.startswith(("api-", "operator-"))
            ),
        )
        schemas = document["components"]["schemas"]
        for name in set(_references(document)):
            self.assertIn(name.removeprefix("#/components/schemas/"), schemas)
        self.assertNotIn(str(settings.BASE_DIR), json.dumps(document))


def _references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [name for item in part for name in _references(item)]
    if not isinstance(part, dict):
        return []
    own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
    return own + [name for item in part.values() for name in _references(item)]

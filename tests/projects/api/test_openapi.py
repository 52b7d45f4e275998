"""The API's OpenAPI document is valid, and what programs generate from it works."""

import json
from typing import Any

from openapi_spec_validator import OpenAPIV31SpecValidator

from projects.api.openapi import openapi_document
from projects.api.urls import api
from tests.support.api_client import ProgramCase


def document() -> Any:
    """As a client reads it."""
    return json.loads(json.dumps(openapi_document(api)))


class OpenAPITest(ProgramCase):
    def test_it_is_valid(self) -> None:
        self.assertEqual([error.message for error in OpenAPIV31SpecValidator(document()).iter_errors()], [])

    def test_a_validator_finds_what_was_wrong_with_it(self) -> None:
        broken = document()
        broken["paths"]["/api/v1/outputs"]["post"]["parameters"][0]["examples"] = ["3f2b8c1e"]
        self.assertTrue(list(OpenAPIV31SpecValidator(broken).iter_errors()))

    def test_every_operation_has_its_own_id_in_a_form_that_programming_languages_take(self) -> None:
        ids = [operation["operationId"] for methods in document()["paths"].values() for operation in methods.values()]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual([name for name in ids if not name.replace("-", "").isalnum()], [])

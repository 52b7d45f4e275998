"""The base class for tests of the API and other URLs that programs call with an API key."""

import json
from typing import Any

from django.utils import timezone

from projects.models import APIKey, Project
from projects.tenancy import api_keys
from tests.support.cast import Cast, without_models

EVERYTHING = ("read", "write", "admin")


@without_models
class ProgramCase(Cast):
    """Acme's project Apollo and Globex's project Zeus each have a key with all scopes."""

    key: str
    other_key: str

    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.key = cls.issue(cls.apollo)
        cls.other_key = cls.issue(cls.zeus)

    @classmethod
    def issue(cls, project: Project, scopes: Any = EVERYTHING, name: str = "CI") -> str:
        return api_keys.issue(project, name, scopes, actor="alice", now=timezone.now())[1]

    def row(self) -> APIKey:
        return APIKey.objects.get(digest=APIKey.hashed(self.key))

    def call(self, method: str, path: str, body: Any = None, *, key: str | None = None, **more: Any) -> Any:
        """The API's response; ``body`` is sent as JSON, or unchanged if it is bytes."""
        headers = {"Authorization": f"Bearer {self.key if key is None else key}", **more.pop("headers", {})}
        if body is not None:
            more = {"content_type": "application/json", **more}
            more["data"] = body if isinstance(body, bytes) else json.dumps(body)
        address = path if path.startswith("/api/") else f"/api/v1/{path}"
        return self.client.generic(method, address, headers=headers, **more)

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200, **more: Any) -> Any:
        """Assert that the response has this status, and return its JSON."""
        answer = self.call(method, path, body, **more)
        self.assertEqual(answer.status_code, status, answer.content)
        return answer.json()

    def output(self, text: str = "We chose Postgres 16 for billing.", **more: Any) -> dict[str, Any]:
        """The request body of an output."""
        return {"chat": "c-1", "author": "ann", "question": text, "answer": "Noted.", **more}

"""The demo's questions are asked wherever their chats are missing, and only there."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from memorybank.models import Event, Output
from projects.importing import demo
from projects.models import AnswerContext, Conversation, Tenant
from projects.tenancy import provisioning


@pytest.mark.django_db
def test_a_sample_loaded_without_its_questions_is_asked_them_once(monkeypatch: Any, settings: Any) -> None:
    settings.DEBUG = True  # else the demo refuses
    demo.create_people([])
    for row in map(json.loads, demo.QUESTIONS_FILE.read_text(encoding="utf-8").splitlines()):
        tenant, slug = row["project"].split("/")
        provisioning.create_project(Tenant.objects.get(slug=tenant), slug, slug)
    monkeypatch.setattr(demo, "load_sample", list)
    monkeypatch.setattr(demo, "is_loaded", lambda lines: True)
    counts = []
    for _run in range(2):
        call_command("demo", no_serve=True)
        counts.append([model.objects.count() for model in (Conversation, Output, AnswerContext, Event)])
    assert counts[0][:2] == [3, 3]
    assert counts[1] == counts[0]

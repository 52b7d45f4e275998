"""The recorded answers of a model that `demo` replays."""

import json
import os

import pytest

from memorybank import llm, services
from memorybank.llm.recorded import RecordedLLM, prompt_key
from projects.importing import demo
from projects.importing.replay import replay
from projects.models import AnswerContext

#: The smallest sample project; CI replays all of them.
SMALLEST = "harbor-robotics/trade-fair"


@pytest.mark.long
@pytest.mark.django_db
def test_every_prompt_of_the_replay_has_a_recorded_answer() -> None:
    """If this fails after a change of prompts, masking or roll-up: see `benchmarks/record_sample.py`."""
    lines = [line for line in demo.load_sample() if os.environ.get("CI") or line.path == SMALLEST]
    model = demo.recorded_model()
    demo.create_people(lines)
    with llm.using("summary", model):
        replay(lines, step=demo.REPLAY_STEP, prepare=demo.prepare)
        demo.catch_up()
    assert [messages[-1]["content"][:300] for messages in model.missing.values()] == []
    if os.environ.get("CI"):
        demo.ask_questions()
        assert all(answer.cited for answer in AnswerContext.objects.all()) and AnswerContext.objects.count() == 3
    for project in demo.sample_projects(lines):
        block = services.prompt_memory(project.bank).block
        assert block.tokens <= project.bank.max_tokens and len(model.used) > 10


def test_every_recorded_answer_is_of_the_form_that_the_prompts_ask_for() -> None:
    rows = [json.loads(line) for line in demo.ANSWERS_FILE.read_text(encoding="utf-8").strip().split("\n")]
    assert len({row["prompt"] for row in rows}) == len(rows) > 200
    assert all(line.startswith("- ") for row in rows for line in row["answer"].splitlines() if line.strip())


def test_a_prompt_s_key_depends_on_what_it_shows_and_not_on_its_nonce_or_its_limit_of_words() -> None:
    def key(nonce: str, words: int, text: str) -> str:
        user = f"<<<data {nonce}\n[1] {text}\ndata {nonce}>>>\n\nAnswer with at most {words} words in all."
        return prompt_key([{"role": "system", "content": nonce}, {"role": "user", "content": user}])

    same = key("0123456789abcdef", 40, "The crane is orange.")
    assert key("fedcba9876543210", 50, "The crane is orange.") == same
    assert key("0123456789abcdef", 40, "The crane is green.") != same


def test_a_prompt_without_an_answer_is_answered_with_nothing_and_counted() -> None:
    model = RecordedLLM(path=str(demo.ANSWERS_FILE), model="recorded")
    assert model.complete([{"role": "user", "content": "What is new?"}]).text == "- nothing"
    assert (len(model.missing), model.used) == (1, set())

"""The recorded answers of a model that `demo --recorded` replays."""

import json

from memorybank.llm.recorded import RecordedLLM, prompt_key
from projects.importing import demo


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

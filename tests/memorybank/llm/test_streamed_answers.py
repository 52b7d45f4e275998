"""Streamed answers: the same text, costs and errors as answers that arrive at once."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.exceptions import LLMError, LLMMisconfigured, LLMRejected, LLMTooLong, LLMUnavailable
from memorybank.llm.base import Completion, Message
from memorybank.llm.openai_compatible import OpenAICompatibleLLM
from memorybank.llm.scripted import ScriptedLLM
from memorybank.llm.stream_text import visible_text
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.openai_server import OpenAIServer

ASK = [Message(role="user", content="[1] Postgres 16 for billing. Priya owns it.\nand more\n[2] Deploy on Tuesdays")]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def model(server: OpenAIServer) -> Iterator[OpenAICompatibleLLM]:
    model = OpenAICompatibleLLM(
        base_url=server.base_url, api_key="sk-1", model="test", timeout=PROCESS_TIMEOUT_SECONDS, max_retries=0
    )
    yield model
    model.close()


def heard(model: OpenAICompatibleLLM | ScriptedLLM) -> tuple[list[str], Completion]:
    """All pieces, and the completion."""
    pieces: list[str] = []
    stream = model.stream(ASK)
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value


def test_pieces_are_the_answer_and_cost_what_it_costs(model: OpenAICompatibleLLM) -> None:
    pieces, whole = heard(model)
    assert len(pieces) > 5
    assert all(pieces)
    assert whole == model.complete(ASK)
    assert "".join(pieces) == whole.text


def test_what_it_cost_is_estimated_where_nobody_says(server: OpenAIServer, model: OpenAICompatibleLLM) -> None:
    server.usage = False
    server.answer = lambda messages: "<think>Hm. Four words?</think>\n\nOne two three four. "
    pieces, whole = heard(model)
    assert ("".join(pieces), whole.text) == ("One two three four.",) * 2
    assert whole == model.complete(ASK)
    assert whole.completion_tokens > 3


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("500", LLMUnavailable),
        ("429", LLMUnavailable),
        ("401", LLMMisconfigured),
        ("400", LLMTooLong),
        ("empty", LLMRejected),
        ("break-off", LLMUnavailable),
        ("mid-error", LLMUnavailable),
    ],
)
def test_it_fails_as_an_answer_at_once_does(
    server: OpenAIServer, model: OpenAICompatibleLLM, mode: str, kind: type[LLMError]
) -> None:
    server.mode = mode
    pieces: list[str] = []
    with pytest.raises(kind) as raised:
        pieces.extend(model.stream(ASK))
    assert type(raised.value) is kind
    assert bool(pieces) == (mode in ("break-off", "mid-error"))


def test_who_closes_it_ends_the_call(server: OpenAIServer, model: OpenAICompatibleLLM) -> None:
    server.pace = 0.01
    stream = model.stream(ASK)
    assert next(stream)
    stream.close()
    assert heard(model)[1].text  # the connection is not in the next one's way


def test_a_scripted_model_says_its_answer_word_by_word() -> None:
    model = ScriptedLLM(answer="One  two\nthree")
    assert heard(model)[0] == ["One  ", "two\n", "three"]


@given(st.text(alphabet="<think/ing> ab\n", max_size=60), st.data())
def test_however_it_is_cut_what_is_spoken_is_the_same(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(visible_text(pieces)) == "".join(visible_text([text])) == "".join(visible_text(pieces)).strip()


@pytest.mark.parametrize("tag", ["think", "thinking"])
def test_thoughts_are_not_spoken(tag: str) -> None:
    assert list(visible_text([f" <{tag[:3]}", f"{tag[3:]}>so", f" </{tag}> ", " So be", " it "])) == ["So be", " it"]

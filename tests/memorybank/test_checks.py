"""Misspelt or impossible settings fail at start, with a hint."""

from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from memorybank.checks import check_settings


def check_messages(settings: Any, **wrong: Any) -> list[tuple[str, str]]:
    """What the checks say of these settings."""
    settings.MEMORYBANK = wrong
    return [(message.id or "", f"{message.msg} {message.hint or ''}") for message in check_settings()]


def test_the_defaults_are_fine(settings: Any) -> None:
    assert check_messages(settings) == []


def test_a_misspelt_name_comes_with_the_right_one(settings: Any) -> None:
    [(code, text)] = check_messages(settings, CHUNK_TOKEN=100)
    assert code == "memorybank.E002"
    assert "CHUNK_TOKEN. Did you mean CHUNK_TOKENS?" in text


@pytest.mark.parametrize("wrong", [0, -1, "many", None, True, -0.5])
def test_a_number_must_be_positive(settings: Any, wrong: Any) -> None:
    [(code, text)] = check_messages(settings, LEASE_SECONDS=wrong)
    assert code == "memorybank.E003"
    assert "LEASE_SECONDS" in text and repr(wrong) in text


@pytest.mark.parametrize("wrong", [2.5, 2.0, float("inf"), float("nan"), "2"])
def test_what_is_counted_must_be_a_whole_number(settings: Any, wrong: Any) -> None:
    [(code, text)] = check_messages(settings, CONCURRENCY=wrong)
    assert code == "memorybank.E003"
    assert "MEMORYBANK['CONCURRENCY'] must be a positive whole number" in text and repr(wrong) in text


@pytest.mark.parametrize("fine", [1, 0.25])
def test_a_share_may_be_fractional(settings: Any, fine: float) -> None:
    assert check_messages(settings, DETAIL_SHARE=fine, PRESSURE=fine) == []


@pytest.mark.parametrize("wrong", [float("inf"), float("nan")])
def test_a_share_must_be_finite(settings: Any, wrong: float) -> None:
    assert [code for code, _ in check_messages(settings, DETAIL_SHARE=wrong)] == ["memorybank.E003"]


@pytest.mark.parametrize("name", ["LLMS", "EMBEDDINGS"])
@pytest.mark.parametrize("wrong", [None, "http://127.0.0.1:9/v1?key=secret", 7, ["chat"]])
def test_a_model_s_options_must_be_a_dictionary(settings: Any, name: str, wrong: Any) -> None:
    [(code, text)] = check_messages(settings, **{name: wrong})
    assert code == "memorybank.E007"
    assert name in text and type(wrong).__name__ in text and "secret" not in text


@pytest.mark.parametrize("wrong", [None, "gpt", 7])
def test_an_alias_s_options_must_be_a_dictionary(settings: Any, wrong: Any) -> None:
    [(code, text)] = check_messages(settings, LLMS={"summary": wrong})
    assert code == "memorybank.E007"
    assert "LLMS['summary']" in text


def test_names_count_in_any_case_as_they_do_when_read(settings: Any) -> None:
    assert [code for code, _ in check_messages(settings, concurrency=0)] == ["memorybank.E003"]


def test_a_budget_can_only_be_proved_in_an_encoding_that_ships(settings: Any) -> None:
    assert [code for code, _ in check_messages(settings, ENCODING="gpt2")] == ["memorybank.E004"]


@pytest.mark.parametrize("wrong", [{"CHUNK_TOKENS": 20_000}, {"CHUNK_FROM_TOKENS": 20_000}, {"INPUT_TOKENS": 1_000}])
def test_a_chunk_must_fit_into_a_call(settings: Any, wrong: dict[str, int]) -> None:
    assert [code for code, _ in check_messages(settings, **wrong)] == ["memorybank.E005"]


@pytest.mark.parametrize("path", ["memorybank.llm.nothing.LLM", "", "nonsense", None, 7])
def test_a_backend_must_be_importable(settings: Any, path: Any) -> None:
    [(code, text)] = check_messages(settings, LLMS={"summary": {"BACKEND": path}})
    assert code == "memorybank.E006"
    assert "summary" in text and "OpenAICompatibleLLM" in text


def test_an_impossible_setting_stops_the_start(settings: Any) -> None:
    settings.MEMORYBANK = {"CONCURRENCY": 0}
    with pytest.raises(SystemCheckError, match="CONCURRENCY"):
        call_command("check", "memorybank")


def test_settings_that_are_no_dictionary_are_named(settings: Any) -> None:
    settings.MEMORYBANK = ["ENCODING"]
    assert [message.id for message in check_settings()] == ["memorybank.E001"]

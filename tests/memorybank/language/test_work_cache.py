"""What is read of a text is remembered for one piece of work, and not longer."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from memorybank.language import work_cache

calls: list[str] = []


@work_cache.once_per_work
def measured(text: str, *, twice: bool = False) -> int:
    calls.append(text)
    return len(text) * (1 + twice)


@work_cache.last_per_work
def looked_at(text: str) -> list[str]:
    calls.append(text)
    return text.split()


@work_cache.remembered_by_digest
def counted(text: str, names: frozenset[str] = frozenset()) -> int:
    calls.append(text)
    return len(text) + len(names)


def test_it_reads_a_text_once_per_work() -> None:
    calls.clear()
    with work_cache.work():
        assert [measured("ledger"), measured("ledger"), measured("ledger", twice=True)] == [6, 6, 12]
    assert calls == ["ledger", "ledger"]


def test_outside_of_work_and_afterwards_nothing_is_remembered() -> None:
    calls.clear()
    with work_cache.work():
        measured("ledger")
    with work_cache.work():
        measured("ledger")
    measured("ledger")
    measured("ledger")
    assert len(calls) == 4


def test_only_the_last_of_large_results_is_remembered_and_not_beyond_the_work() -> None:
    calls.clear()
    with work_cache.work():
        results = [looked_at(text) for text in ("a ledger", "a ledger", "a pier", "a ledger")]
    assert results == [["a", "ledger"], ["a", "ledger"], ["a", "pier"], ["a", "ledger"]]
    looked_at("a ledger")
    assert calls == ["a ledger", "a pier", "a ledger", "a ledger"]


def test_threads_of_the_work_share_what_is_read() -> None:
    calls.clear()
    with work_cache.work(), ThreadPoolExecutor(max_workers=1) as pool:
        assert pool.submit(copy_context().run, measured, "ledger").result() == 6
        assert measured("ledger") == 6
    assert calls == ["ledger"]


def test_a_number_is_remembered_longer_than_the_work_without_the_text() -> None:
    calls.clear()
    values = [counted("ledger"), counted("ledger"), counted("ledger", frozenset(["ann"])), counted("other")]
    assert values == [6, 6, 7, 5]
    assert calls == ["ledger", "ledger", "other"]
    remembered = [cell.cell_contents for cell in counted.__closure__ or ()]  # type: ignore[attr-defined]
    assert not any(word in repr(remembered) for word in ("ledger", "other", "ann"))


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_cache, "MAX_DIGESTS", 3)
    calls.clear()
    for text in ("a", "b", "c", "d", "a"):
        counted(text * 9)
    assert calls == [text * 9 for text in "abcda"]

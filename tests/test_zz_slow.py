"""x"""

import time, pytest
from tests.test_properties import *


@pytest.mark.django_db
def test_slow(settings):
    for name, model in (("extractive", {}), ("model", {"LLMS": {"summary": SCRIPTED}})):
        settings.MEMORYBANK = model
        llm.reset()
        if model:
            vars(llm.get("summary"))["answer"] = note_taker
        for t in [
            "short one here.",
            *SENTENCES[:1],
            "x" * 20_000,
            "word " * 4_000,
            "漢" * 6_000,
            "a\n" * 3_000,
            "\u0301" * 5_000,
        ]:
            s = time.time()
            with remembering([("a", "Ann", t, "Noted.", 1)]) as b:
                pass
            print(name, repr(t[:10]), round(time.time() - s, 2))
        s = time.time()
        with remembering([("abcdef"[i % 6], "Ann", SENTENCES[i % 7], "Noted.", i * 24) for i in range(14)]) as b:
            pass
        print(name, "14 turns", round(time.time() - s, 2))

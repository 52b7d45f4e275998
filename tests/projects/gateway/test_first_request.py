"""The start of a server loads what the first message needs, so that loading does not cost that message its memory."""

from pathlib import Path

import pytest

from tests.support.gateway_site import gateway

pytestmark = [pytest.mark.own_servers]
#: In a new process: the notes of the first message, and what was loaded for it.
FIRST_MESSAGE = """
import sys
from memorybank import services
from projects.gateway import memory_injection
{before}
loaded = set(sys.modules)
memory = services.prompt_memory(services.all_banks().first(), question="Which database does the ledger run on?")
print("PostgreSQL" in memory.recalled.text, len(set(sys.modules) - loaded))
"""


def test_first_message_finds_everything_loaded(tmp_path: Path) -> None:
    with gateway(tmp_path) as served:
        request = {"model": "small", "messages": [{"role": "user", "content": "The ledger runs on PostgreSQL 16."}]}
        served.post("/v1/chat/completions", request)
        served.summarise()
        served.site.tell("DELETE FROM memorybank_storedblock")  # it would have the fact, and the notes would not

        def first_message(before: str) -> list[str]:
            return served.site.manage("shell", "-v", "0", "-c", FIRST_MESSAGE.format(before=before)).out.split()

        assert first_message("memory_injection.warm_up()") == ["True", "0"]
        recalled, loaded = first_message("")
        assert recalled == "True" and int(loaded) > 0

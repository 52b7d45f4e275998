"""A long chat with known facts, and a model that takes notes and answers only from its prompt.

The model notes sentences that are marked as a goal, a decision and so on. It answers with the sentence of its prompt
that shares most words with the question, so it cannot answer from anything else.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from memorybank.services import NewOutput
from tests.support.factories import MONDAY

#: Facts that the first half of the chat states once: section, sentence, question after compaction, expected answer.
PLANTED = (
    ("goal", "The goal is to move the billing service of Northwind to Postgres 16 without downtime.",
     "What is the goal for the billing service of Northwind?", "Postgres 16"),
    ("constraint", "It must never write to the ledger_v1 table of the old warehouse.",
     "Which table of the old warehouse must it never write to?", "ledger_v1"),
    ("decision", "We decided on logical replication instead of dump and restore, because dumps take 9 hours.",
     "Why was logical replication decided on instead of dump and restore?", "9 hours"),
    ("context", "The script that moves invoices is /srv/billing/tools/move_invoices.py, written on Tuesday.",
     "Which script moves invoices?", "/srv/billing/tools/move_invoices.py"),
    ("blocked", "Blocked by the error ERR_SLOT_4711: replication slot inv_slot is active for PID 8812.",
     "Which error blocked the replication slot inv_slot?", "ERR_SLOT_4711"),
    ("done", "Done: the customers table was copied, 48,211 rows, checksum a41f90.",
     "How many rows of the customers table were copied?", "48,211"),
    ("next", "Next we switch the read replicas to port 6544 and rerun the smoke test.",
     "To which port are the read replicas switched next?", "6544"),
)  # fmt: skip
#: The answer of the last turn, which compaction keeps unchanged.
LAST = "The smoke test on port 6544 passed at noon, and ticket BILL-902 is closed."

_SIGNS = {
    "goal": "The goal is", "constraint": "must never", "decision": "We decided", "context": "The script that",
    "blocked": "Blocked by", "done": "Done:", "next": "Next we",
}  # fmt: skip
_FILLER = (
    "Please look at shard {n} of the import: the log has {m} lines and nothing in it stands out to me so far.",
    "I read the log of shard {n}. It has {m} lines about retries of worker {k}, and each of them ended well.",
)
_FENCE = re.compile(r"^<<<(\w+) [0-9a-f]{16}\n(.*?)\n\1 [0-9a-f]{16}>>>", re.M | re.S)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")


def turns(tokens: int, *, chat: str = "long", author: str = "Priya", at: datetime = MONDAY) -> list[NewOutput]:
    """Turns with about ``tokens`` tokens. The planted facts are in the first half; each turn has tool output."""
    count = max(20, tokens // 300)
    planted = {2 + number * (count // 2) // len(PLANTED): said[1] for number, said in enumerate(PLANTED)}
    made = []
    for number in range(count):
        asked, answered = (" ".join(item.format(n=number, m=n * 7 + number, k=n) for n in range(3)) for item in _FILLER)
        question = f"{planted[number]} {asked}" if number in planted else asked
        answer = LAST if number == count - 1 else answered
        time = at + timedelta(minutes=number)
        made.append(NewOutput(chat, author, question, time, answer, tool_work(number), key=f"{chat}-{number}"))
    return made


def tool_work(number: int) -> list[dict[str, Any]]:
    """A tool call and its result, as a client records them."""
    function = {"name": "read_log", "arguments": f'{{"shard": {number}}}'}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "function": function}]},
        {
            "role": "tool",
            "tool_call_id": f"c{number}",
            "name": "read_log",
            "content": f"retry of worker {number} " * 12,
        },
    ]


def model(messages: Sequence[dict[str, Any]]) -> str:
    """Take notes if asked to compact; answer anything else with the best sentence of the prompt."""
    system, last = str(messages[0]["content"]), str(messages[-1]["content"])
    return notes(last) if system.startswith("You shorten a long chat") else best_sentence(messages)


def notes(prompt: str) -> str:
    """The notes in the prompt, and a note for each marked sentence of its turns."""
    shown = dict(_FENCE.findall(prompt))
    body = shown.get("data", "")
    known = [
        line for part in (shown.get("checkpoint", ""), body) for line in part.splitlines() if line.startswith("- ")
    ]
    return "\n".join(dict.fromkeys([*known, *_marked(body)])) or "- doing: reading logs"


def _marked(body: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(body):
        for section, sign in _SIGNS.items():
            if sign in sentence and not sentence.startswith("- "):
                begin = (
                    sentence.rfind("It", 0, sentence.index(sign)) if section == "constraint" else sentence.index(sign)
                )
                yield f"- {section}: {sentence[begin:]}"


def best_sentence(messages: Sequence[dict[str, Any]]) -> str:
    """The sentence of the prompt that shares most words with the last question."""
    asked, _, beside = str(messages[-1]["content"]).partition("\n\n")  # recalled notes follow the question
    question, before = _words(asked), [*(str(message["content"]) for message in messages[:-1]), beside]
    texts = [sentence for text in before for sentence in _SENTENCE.split(text) if sentence.strip()]
    return max(texts, key=lambda each: len(question & _words(each)), default="I do not know.")


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}

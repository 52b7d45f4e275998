"""Functions that make banks, chats, outputs and entries. Callers pass the time."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from memorybank import services
from memorybank.core.packing.items import as_line
from memorybank.language import tokens
from memorybank.llm.base import Message
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Fact, Granularity, LLMEndpoint, Output
from memorybank.safety.quoting import after_speaker
from memorybank.writing.fact_store import new_fact
from tests.support import openai_server

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

SUBJECTS = ("harbour crane", "invoice importer", "winter roster", "customs form", "night ferry", "oak warehouse")
VERBS = ("replaced by the northern office", "painted in signal orange", "handed over to the planning team")


def make_bank(*, now: datetime = MONDAY, enabled: bool = True, **settings: Any) -> Bank:
    """A bank, switched on by default."""
    bank = Bank.objects.create(**settings)
    if enabled:
        services.enable(bank, actor="alice", disclosure_accepted=True, now=now)
    return bank


def say(bank: Bank, chat: str, question: str, *, at: datetime = MONDAY, **more: Any) -> Output:
    """Record one turn at the time ``at``."""
    fields = {"author": "Priya", "answer": "Noted.", "now": at, **more}
    return services.record(bank, chat_key=chat, question=question, created_at=at, **fields)


def sentence(number: int) -> str:
    """A sentence that is unique to this number; it contains :func:`tag`."""
    subject, verb = SUBJECTS[number % len(SUBJECTS)], VERBS[number // len(SUBJECTS) % len(VERBS)]
    return f"The {subject} of order {tag(number)} has to be {verb} before spring."


def tag(number: int) -> str:
    """The word that identifies the turn of this number."""
    return f"ORD-{number:05}"


def talk(bank: Bank, chat: str, numbers: Sequence[int], *, at: datetime = MONDAY) -> list[Output]:
    """Record a turn each minute, with the sentence of its number."""
    return [say(bank, chat, sentence(number), at=at + index * MINUTE) for index, number in enumerate(numbers)]


def chat_of(bank: Bank, key: str) -> Chat:
    """The chat's current row."""
    return Chat.objects.get(bank=bank, key=key)


def endpoint() -> LLMEndpoint:
    """The current row of the test's only endpoint."""
    return LLMEndpoint.objects.get()


def add_leaf(bank: Bank, chat: str, texts: Sequence[str], *, at: datetime, **of_facts: Any) -> Entry:
    """Record a turn and add its leaf with these facts, as a summary would."""
    output = say(bank, chat, " ".join(texts), at=at)
    row = chat_of(bank, chat)
    Chat.objects.filter(pk=row.pk).update(
        summarised_through=output.sequence, pending_outputs=0, due_at=None, index_due=True
    )
    leaf = Entry.objects.create(
        bank=bank,
        chat=row,
        granularity=Granularity.CONVERSATION,
        period_start=at.astimezone(bank.tz).date(),
        first_output=output.sequence,
        last_output=output.sequence,
        output_count=1,
        first_at=at,
        last_at=at,
        method="extractive/1",
        tokens=sum(tokens.count(text) for text in texts),
    )
    add_facts(leaf, texts, **of_facts)
    Bank.objects.touch(bank.pk)
    Bank.objects.filter(pk=bank.pk).update(consolidate_at=at)
    return leaf


def add_fact(entry: Entry, text: str, *, position: int = 0, **more: Any) -> Fact:
    """A fact that cites the first turn of its leaf."""
    return add_facts(entry, [text], position=position, **more)[0]


def add_facts(entry: Entry, texts: Sequence[str], *, position: int = 0, **more: Any) -> list[Fact]:
    """Facts from ``position`` on, which cite the first turn of their leaf."""
    fields = {"said_on": entry.last_at.date(), "speaker": "Priya", **more}
    if "citations" not in fields:
        fields["citations"] = [output.pk for output in entry.covered()[:1]]
    facts = [
        new_fact(entry, text=text, position=place, tokens=tokens.count(text), **fields)
        for place, text in enumerate(texts, position)
    ]
    Fact.objects.create_cited(facts)
    return facts


def wording_of(text: str, names: Collection[str], **line: Any) -> str:
    """A text as it follows its speaker's name: see ``as_line``."""
    return after_speaker(*as_line(text, names, **line))


def run(now: datetime, **options: Any) -> services.RunReport:
    """Do the work of Celery beat and of a worker until nothing is due at ``now``."""
    return services.run(now=now, until_idle=True, **options)


def block_of(bank: Bank, **of_chat: Any) -> tuple[str, int]:
    """The text of the stored block as in a chat's prompt, and its tokens."""
    block = services.prompt_memory(bank, **of_chat).block
    return block.text, block.tokens


def send_prompt(bank: Bank, chat_key: str, **now: Any) -> None:
    """Read a chat's memory and record that its prompt was sent, as for a message."""
    memory = services.prompt_memory(bank, chat_key=chat_key, **now)
    services.record_sent_prompt(bank, chat_key=chat_key, memory=memory, **now)


def stored_text(bank: Bank) -> str:
    """Every text and every line of a bank's stored blocks."""
    return " ".join(f"{text} {lines}" for text, lines in bank.blocks.values_list("text", "lines"))


def cover(*banks: Bank) -> None:
    """Summarise all turns of ``banks``, longest-idle chat first and even active chats, so that recall finds them."""
    chats = Chat.objects.filter(bank__in=banks, last_output_at__isnull=False).order_by("last_output_at", "pk")
    for chat in chats.select_related("bank"):
        services.summarise_now(chat.bank, chat_key=chat.key, now=chat.last_output_at)


@contextmanager
def undone() -> Iterator[None]:
    """Roll back all writes of this ``with`` block, so that the next case finds the same rows."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def sound(*banks: Bank) -> bool:
    """Assert that all invariants hold; the message lists the violations."""
    assert [violation for bank in banks for violation in services.find_violations(Bank.objects.get(pk=bank.pk))] == []
    return True


def day_of_leaves(bank: Bank, day: int, *, chats: int = 4, facts: int = 4) -> list[Entry]:
    """The leaves of a day, each with ``facts`` facts."""
    numbers = range(day * 100, day * 100 + chats * facts, facts)
    time = MONDAY + day * DAY
    return [add_leaf(bank, f"c{n}", [sentence(n + m) for m in range(facts)], at=time) for n in numbers]


def digests(granularity: str = "day") -> list[Entry]:
    """The digests of a granularity, oldest first."""
    return list(Entry.objects.filter(granularity=granularity).order_by("period_start"))


def kept_by(digest: Entry) -> list[int]:
    """The ids of the leaf facts that a digest keeps unchanged, in its order."""
    return list(digest.kept_links.values_list("fact_id", flat=True))


def leaf() -> Entry:
    """The test's only leaf."""
    return Entry.objects.leaves().get()


# --- the model ---------------------------------------------------------------------------------------


def note_taker(messages: Sequence[Message]) -> str:
    """An obedient model: at most 12 lines in the items' own words."""
    return openai_server.answer([dict(message) for message in messages])


def prompt_of(messages: Sequence[Message]) -> str:
    """The data in the prompt of a call."""
    return messages[-1]["content"]


def new_talk(messages: Sequence[Message]) -> str:
    """What a call has to note down, without what came before it in its chat."""
    return prompt_of(messages).partition("<<<data")[2]


def refusing(word: str) -> Callable[[Sequence[Message]], str]:
    """A model whose answers are unusable if the prompt contains ``word``."""
    return lambda messages: "Sorry, no." if word in prompt_of(messages) else note_taker(messages)


def meanwhile(act: Callable[[], object]) -> Callable[[Sequence[Message]], str]:
    """A model that calls ``act`` before it answers."""

    def think(messages: Sequence[Message]) -> str:
        act()
        return note_taker(messages)

    return think


def shown(model: ScriptedLLM, number: int) -> int:
    """The number of note-taking calls that had the turn itself to note down, not only facts from it ([F1])."""
    prompts = [new_talk(call) for call in model.history if "is new talk" in call[0]["content"]]
    return sum(len(re.findall(rf"^\[\d+\].*{tag(number)}", prompt, re.M)) for prompt in prompts)

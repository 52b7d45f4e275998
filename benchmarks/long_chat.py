"""Opening a long chat: time and queries of its page by number of turns.

Command: python -m benchmarks long_chat

Targets: at most 300 ms (median) and 15 queries for 2,000 turns, at its end and on an earlier page. Processor time is shown
beside wall time, because the machine may be busy. The chat belongs to the reader, in a project with memory and with as many
other chats of the same reader; the answers are Markdown.
"""

import logging
import re
import time
from functools import partial

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memorybank.indexing import block_writer
from memorybank.models import Bank, Chat, Output
from projects.models import AnswerContext, Conversation, Membership, Project, Tenant

from . import scratch, seeding
from .measuring import Measurement, interleaved_ms, queries, show

TURN_COUNTS = (20, 2_000)
REPETITIONS = 30
ANSWER = "The crates are in **hall 9**:\n\n| crate | hall |\n|---|---|\n| 7 | 9 |\n\n```\nfind --crate 7\n```\n"


def measure() -> list[Measurement]:
    """Medians over many openings, the sizes in turns."""
    logging.disable(logging.INFO)  # each page is logged
    with scratch.database():
        client, project, reader = _signed_in()
        pages = [partial(client.get, _page(project, reader, size)) for size in TURN_COUNTS]
        [earlier] = re.findall(r"\?before=\w+", pages[-1]().content.decode())
        pages.append(partial(client.get, f"{pages[-1].args[0]}{earlier}"))
        names = [*(f"{size:,} turns" for size in TURN_COUNTS), f"{TURN_COUNTS[-1]:,} turns, an earlier page"]
        times = zip(
            names,
            interleaved_ms(pages, REPETITIONS),
            interleaved_ms(pages, REPETITIONS, time.process_time),
            strict=True,
        )
        return [
            *(Measurement(f"{name}, ms (of a processor)", f"{ms:.0f} ({own:.0f})", "≤ 300") for name, ms, own in times),
            *(
                Measurement(f"{name}, queries", str(queries(page)), "≤ 15")
                for name, page in zip(names, pages, strict=True)
            ),
        ]


def _signed_in() -> tuple[Client, Project, User]:
    bank = seeding.bank()
    seeding.fill(bank, chats=1_000, facts=2)
    block_writer.refresh(bank.pk, now=seeding.NOW)
    tenant, reader = Tenant.objects.create(slug="acme", name="Acme"), User.objects.create_user("ann")
    Membership.objects.create(tenant=tenant, user=reader)
    client = Client(headers={"host": "localhost"})
    client.force_login(reader)
    project = Project.objects.create(tenant=tenant, slug="apollo", name="Apollo", bank=Bank.objects.get(pk=bank.pk))
    return client, project, reader


def _page(project: Project, reader: User, turns: int) -> str:
    """The page of a chat of so many answered turns."""
    numbers, bank = range(turns), project.bank
    chats = Chat.objects.bulk_create(
        Chat(bank=bank, key=f"{turns}-{n}", title=f"Chat {n}", last_output_at=seeding.NOW) for n in numbers
    )
    Conversation.objects.bulk_create(Conversation(chat=chat, owner=reader) for chat in chats)
    outputs = Output.objects.bulk_create(
        Output(
            chat=chats[0],
            sequence=n,
            author="ann",
            question=f"Where is crate {n}?",
            answer=ANSWER,
            created_at=seeding.NOW,
        )
        for n in numbers
    )
    fields = {"memory_version": 1, "memory_tokens": 1_900, "prompt_tokens": 2_500}
    AnswerContext.objects.bulk_create(AnswerContext(output=output, **fields) for output in outputs)
    return reverse("chat", args=["acme", "apollo", chats[0].key])


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

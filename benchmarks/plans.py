"""Whether each query of the site has a plan by an index: what people and workers do, on a population of any size.

Command: DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres python -m benchmarks.plans --scale 0.01

Every statement that the actions send is explained. Tables of fewer rows than ``FEW_ROWS`` are read whole, as they should
be. Of larger ones each scan must have a condition on an index, read an index that holds few of their rows, or stop early.
"""

import argparse
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memorybank import services, tasks
from memorybank.models import Bank, Chat, Fact
from memorybank.worker import WorkLoop
from projects.gateway.conversations.given_notes import find_given_notes
from projects.gateway.conversations.locating import chats_of_history, locate_turn
from projects.gateway.messages import GatewayMessage, ParsedRequest
from projects.gateway.request_identity import ChatId, Sender
from projects.models import Conversation, Membership, Project, Role
from projects.tenancy import people

from . import population, scratch, seeding
from .measuring import Measurement, show

FEW_ROWS = 400
#: The planner is told of so many times the rows that there are.
TIMES = 10
#: The place of the project in the population: a small part of each table, which an index must find.
ORDINARY = 20
EXPLAINED = ("SELECT", "UPDATE", "DELETE", "WITH", "(")


def measure(scale: float = 0.001) -> list[Measurement]:
    """The statements of each action, and those that read a large table without an index."""
    if connection.vendor != "postgresql":
        return [Measurement("plans", "PostgreSQL only")]
    with scratch.database(EMBEDDINGS={}):
        population.fill(scale)
        found = list(explain())
    return [
        row
        for action, statements, wrong in found
        for row in (
            Measurement(f"{action}: statements", str(statements)),
            *(Measurement(f"{action}: {plan}", sql) for sql, plan in wrong),
        )
    ]


def explain() -> Iterator[tuple[str, int, list[tuple[str, str]]]]:
    """Each action of :func:`actions` with its number of statements, and those without an index with what they read."""
    large, partial = _large_tables(), _partial_indexes()
    with connection.cursor() as cursor:  # a table's rows are estimated by these; it is read whole while it is small
        cursor.execute(
            "UPDATE pg_class SET reltuples = reltuples * %s WHERE relname ~ '^(memorybank|projects)_'", [TIMES]
        )
    for name, action in actions().items():
        with transaction.atomic(), CaptureQueriesContext(connection) as captured:
            action()
        statements = [_statement(query["sql"]) for query in captured.captured_queries]
        asked = {sql for sql in statements if sql.lstrip().upper().startswith(EXPLAINED)}
        wrong = [(sql, plan) for sql in sorted(asked) for plan in _whole_reads(_plan(sql), large, partial)]
        yield name, len(asked), wrong


def actions() -> dict[str, Callable[[], object]]:
    """What is done in one of a hundred projects, by workers for all, and by the owner of its tenant."""
    bank = Bank.objects.order_by("pk")[ORDINARY]
    project = Project.objects.select_related("tenant").get(bank=bank)
    chats = list(bank.chats.order_by("pk")[:3])
    fact = Fact.objects.filter(bank=bank).order_by("pk")[0]
    now = seeding.NOW + timedelta(days=1)
    person = User.objects.create_user("ann", is_staff=True)
    Membership.objects.create(user=person, tenant=project.tenant, role=Role.OWNER)
    Conversation.objects.filter(chat__bank=bank).update(owner=person)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {Conversation._meta.db_table}")  # until now nobody owned one
    client, superusers = (Client(SERVER_NAME="127.0.0.1", raise_request_exception=True) for _ in range(2))
    client.force_login(person)
    superusers.force_login(User.objects.create_superuser("root"))

    def page(name: str, *more: object) -> Callable[[], object]:
        address = reverse(name, args=[project.tenant.slug, project.slug, *more])
        return lambda: _opened(client, address)

    asker = people.enter_as(project, person)

    def record() -> None:
        services.record(bank, chat_key="new", author="ann", question="Which database?", answer="Ours.", created_at=now)

    def work() -> None:
        record()
        loop = WorkLoop()
        while item := loop.next(now + timedelta(hours=1)):
            loop.do(item, now=now + timedelta(hours=1))

    admin.autodiscover()
    admin_lists = {
        f"admin{whose}: {model._meta.label}": lambda model=model, by=by: _opened(
            by, reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        )
        for whose, by in (("", client), (", superuser", superusers))
        for model in admin.site._registry
        if model._meta.app_label in ("memorybank", "projects")
    }
    said = [GatewayMessage("user", text) for text in ("Which database?", "And which queue?")]
    asked = ParsedRequest((said[0], GatewayMessage("assistant", "Ours.")), said[1])

    return {
        "a turn is recorded": record,
        "a request's conversation": lambda: locate_turn(bank, Sender(key_id=0), asked),
        "a request's notes": lambda: find_given_notes(bank, locate_turn(bank, Sender(key_id=0), asked), asked),
        "a request's history": lambda: chats_of_history(bank, locate_turn(bank, Sender(key_id=0), asked)),
        "a named chat": lambda: locate_turn(bank, Sender(0, "ann", ChatId("X-Memory-Chat", "c", True)), asked),
        "a worker's work": work,
        "a sweep": tasks.sweep,
        "memory for a prompt": lambda: services.prompt_memory(bank, chat_key="new", question="Whose?", asker=asker),
        "recall": lambda: services.recall(bank, "Which database did we choose for billing?"),
        "home": lambda: _opened(client, reverse("home")),
        "the project's page": page("project"),
        "a chat's page": page("chat", chats[0].key),
        "memory": page("memory"),
        "memory: facts": page("memory-facts"),
        "memory: why": page("memory-why", fact.pk),
        "memory: timeline": page("memory-timeline"),
        "memory: review": page("memory-review"),
        "memory: mine": page("memory-mine"),
        "memory: activity": page("memory-activity"),
        "the admin's board": lambda: _opened(client, reverse("admin:index")),
        **admin_lists,
        "the metrics": services.health_metrics,
        "a chat is deleted": lambda: Chat.objects.filter(pk=chats[0].pk).delete(),
        "a chat is erased": lambda: services.erase(bank, actor="ann", chat=chats[1].key, now=now),
    }


def _opened(client: Client, address: str) -> None:
    answer = client.get(address)
    if answer.status_code not in (200, 403):  # some lists are for operators only
        raise RuntimeError(f"{address}: {answer.status_code}")


def _statement(sql: str) -> str:
    """The query of a cursor's declaration; others as they are."""
    return sql.partition(" FOR ")[2] if sql.startswith("DECLARE") else sql


def _plan(sql: str) -> Any:
    with transaction.atomic(), connection.cursor() as cursor:
        # What is cheapest at this size tells nothing of a larger one: what is left now has no index to use.
        cursor.execute(
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
        )
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql.replace('%', '%%')}", [])
        return cursor.fetchone()[0][0]["Plan"]


def _whole_reads(node: Any, large: set[str], partial: set[str], *, ends: bool = False) -> Iterator[str]:
    """Scans of a large table that read all of it. ``ends``: it ends after some rows of it."""
    ends = node["Node Type"] == "Limit" or (ends and node["Node Type"] not in ("Sort", "Aggregate", "Hash"))
    if (
        node.get("Relation Name") in large
        and "Scan" in node["Node Type"]
        and not node["Node Type"].startswith("Bitmap")
    ):
        by_index = "Index Cond" in node or node.get("Index Name") in partial
        if node["Node Type"] == "Seq Scan" or not (by_index or ends):
            yield f"{node['Node Type']} of {node['Relation Name']}"
    for child in node.get("Plans", []):
        yield from _whole_reads(child, large, partial, ends=ends)


def _large_tables() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples >= %s", [FEW_ROWS])
        return {name for (name,) in cursor.fetchall()}


def _partial_indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE indpred IS NOT NULL")
        return {name for (name,) in cursor.fetchall()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.001, help="1 is the whole")
    show(__doc__.splitlines()[0], measure(parser.parse_args().scale))

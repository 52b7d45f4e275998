"""Search the memory of a member's projects, for the search over their chats."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.urls import reverse

from memorybank import services
from memorybank.services import Fact
from projects.models import Project
from projects.tenancy import people

from . import rows as memory_rows

#: Limits of a search: projects, those with the latest chats, lines of each, and lines of all.
MAX_PROJECTS, MAX_LINES_OF_ONE, MAX_LINES = 10, 5, 20


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of memory, its project, and its address on the project's memory page. The best has the lowest ``rank``.

    Lines in which the last word of the search only begins one come last.
    """

    row: memory_rows.Row
    project: Project
    address: str
    rank: tuple[bool, bool, float]


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """The lines found in all projects, the best first.

    ``limit`` is the number of projects that were searched, if there are more. ``more`` are the projects in which more
    lines were found than are shown of one project.
    """

    lines: list[FoundLine]
    limit: int | None = None
    more: list[Project] = field(default_factory=list)


def search_memory(user: User, projects: QuerySet[Project], words: str) -> FoundMemory:
    """The lines of memory about these words in projects that the user may open. A bounded number of queries."""
    if not words:
        return FoundMemory([])
    active = projects.annotate(at=services.last_activity("bank")).order_by(F("at").desc(nulls_last=True), "pk")
    searched = list(active[: MAX_PROJECTS + 1])
    persons = people.persons_of(user)
    found: list[tuple[Project, list[FoundLine]]] = [
        (project, list(_lines(project, persons.get(project.tenant_id, ""), words)))
        for project in searched[:MAX_PROJECTS]
    ]
    of_each = [line for _project, lines in found for line in lines[:MAX_LINES_OF_ONE]]
    lines = sorted(of_each, key=lambda line: line.rank)[:MAX_LINES]
    more = [project for project, lines in found if len(lines) > MAX_LINES_OF_ONE]
    memory_rows.link_turns([line.row for line in lines], user)
    return FoundMemory(lines, MAX_PROJECTS if len(searched) > MAX_PROJECTS else None, more)


def _lines(project: Project, person: str, words: str) -> Iterator[FoundLine]:
    """The best lines in a project and one more, valid ones before those that say what replaced them."""
    found = services.search_facts(project.bank, words, viewer=person)
    if not found:
        return
    rank = {fact.pk: (score < 0, not fact.is_visible, -score) for fact, score in found.items()}
    valid = {fact.pk for fact in found if fact.is_visible}
    facts = services.browse(project.bank, viewer=person).filter(pk__in=list(rank)).may_be_shown()
    # A fact that a private one replaced has no badge that says so: it is left out.
    shown = [
        fact
        for fact in facts.with_places().annotate(reader_count=services.reader_count("entry__chat"))
        if fact.pk in valid or memory_rows.replaced_by(fact)
    ]
    best = sorted(shown, key=lambda fact: rank[fact.pk])[: MAX_LINES_OF_ONE + 1]
    origins = services.origins(project.bank, [fact for fact in best if not fact.entry.is_leaf], viewer=person)
    for fact in best:
        row = memory_rows.fact_row(fact)
        row.by_hand = memory_rows.written_by_hand(origins[fact.pk])
        yield FoundLine(row, project, _address(project, fact, row.fact_ids[0], words), rank[fact.pk])


def _address(project: Project, fact: Fact, public_id: str, words: str) -> str:
    """Facts of private chats are listed on the page of what is remembered for the reader alone."""
    path = [project.tenant.slug, project.slug]
    if fact.is_private:
        return f"{reverse('memory-mine', args=path)}#line-{public_id}"
    return f"{reverse('memory-facts', args=path)}?{urlencode({'q': words})}#line-{public_id}"

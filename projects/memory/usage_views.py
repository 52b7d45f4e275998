"""The memory that an answer was given with, line by line, each with its sources as far as the reader may see them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.timezone import localdate
from django.views.decorators.http import require_GET

from memorybank import services
from memorybank.services import NOBODY, Fact, MemoryLine, VisibleSentence
from projects.models import AnswerContext, Project, Role
from projects.tenancy import people, permissions
from projects.web.requests import MemberRequest

from . import rows
from .line_sources import own_pages


@dataclass(slots=True)
class UsedLine:
    """A line that an answer was given, and that is still in memory.

    ``day`` is when it was said, or the period that it sums up. ``facts`` is the address of the list of facts at this
    line, for a line that only others may read the source of. ``why`` is the address of its sources page, ``own_turns``
    those of its turns in the reader's own chats. ``wrong`` is the id of its fact that the reader may correct or object
    to. ``place`` is its index among all lines that the answer was given, ``number`` its citation number in the answer
    (0: not cited). ``by_hand`` says who wrote it by hand. Without ``has_source`` the messages it came from are deleted.
    """

    place: int
    line: Fact | VisibleSentence | MemoryLine
    why: str = ""
    wrong: int | None = None
    own_turns: list[str] = field(default_factory=list)
    number: int = 0
    by_hand: str = ""
    has_source: bool = True
    facts: str = ""
    day: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether it was said in a chat that the reader cannot open, so that nothing leads to its source."""
        return self.has_source and not (self.by_hand or self.why or self.own_turns)


@require_GET
@login_required
def used_page(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """The block, personal lines and notes that an answer was given; loaded only when somebody opens them."""
    project_row, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    output = get_object_or_404(services.turns_of(conversation.chat).select_related("answer_context"), pk=turn)
    given = getattr(output, "answer_context", None) or AnswerContext(memory_version=0, memory_tokens=0, prompt_tokens=0)
    viewer = people.person_of(project_row, request.user)
    block_lines = _fact_lines(project_row, given.lines, request.user)
    personal = _fact_lines(project_row, given.personal, request.user, viewer, first=len(given.lines))
    notes = _notes(project_row, given, request.user, viewer)
    shown = [*block_lines, *personal, *notes]
    context = {
        "project": project_row,
        "chat": conversation.chat,
        "turn": output,
        "given": given,
        "block_lines": block_lines,
        "personal": personal,
        "notes": notes,
        "sources": _sources(given, shown),
        "some_closed": any(used.is_closed for used in shown),
        "missing": len(given.lines) + len(given.recalled) + len(given.personal) - len(shown),
    }
    return render(request, "projects/memory_used.html", context)


def _sources(given: AnswerContext, shown: Collection[UsedLine]) -> list[tuple[int, UsedLine | None]]:
    """The lines that the answer cites, with their numbers; None for a line that can no longer be shown."""
    numbers, by_place = given.source_numbers, {used.place: used for used in shown}
    for used in shown:
        used.number = numbers.get(used.place, 0)
    return [(number, by_place.get(place)) for place, number in numbers.items()]


def _fact_lines(
    project: Project, given: Collection[Collection[int]], reader: User, viewer: str = NOBODY, *, first: int = 0
) -> list[UsedLine]:
    """The lines of which at least one fact is left that this viewer may see.

    ``given`` has the fact ids of each line; ``first`` is the place of its first line among all lines of the answer.
    """
    bank, may_explain = project.bank, permissions.may(reader, project.tenant, Role.ADMIN)
    ids = {fact for line in given for fact in line}
    visible = services.browse(bank, viewer=viewer).filter(pk__in=ids, hidden=False)
    allowed = Q(pk__in=visible.may_be_shown().values("pk"))
    if viewer:
        allowed |= Q(pk__in=services.preferences_of(bank, reader.get_username(), viewer=viewer).values("pk"))
    facts = {fact.pk: fact for fact in visible.filter(allowed).select_related("entry")}
    origins = services.origins(bank, list(facts.values()), viewer=viewer)
    pages = own_pages(bank, {origin.output for turns in origins.values() for origin in turns}, reader)
    in_own_words = services.in_own_words(facts.values(), services.Asker(author=reader.get_username()))
    own_words = set(in_own_words.values_list("pk", flat=True))
    lines = []
    for place, line in enumerate(given, start=first):
        remaining = [facts[pk] for pk in line if pk in facts]
        if remaining:
            address = [project.tenant.slug, project.slug, remaining[0].pk]
            why = reverse("memory-why", args=address) if may_explain else ""
            of_line = [origin for fact in remaining for origin in origins[fact.pk]]
            turns = dict.fromkeys(origin.output for origin in of_line)
            shared = remaining[0].pk if not (viewer or may_explain) else None
            wrong = next((fact.pk for fact in remaining if fact.pk in own_words), shared)
            own_turns = [pages[pk] for pk in turns if pk in pages]
            used = UsedLine(place, remaining[0], why, wrong, own_turns, has_source=bool(turns))
            used.day, used.by_hand = rows.day_or_period(remaining[0]), rows.written_by_hand(of_line)
            lines.append(used)
    return lines


def _notes(project: Project, given: AnswerContext, reader: User, viewer: str) -> list[UsedLine]:
    """The notes whose sentences are still in memory and visible to ``viewer``."""
    places = [(output, place) for output, place in given.recalled]
    sentences = services.sentences(project.bank, places, viewer=viewer)
    outputs = {output for output, _ in sentences}
    pages = own_pages(project.bank, outputs, reader)
    times = dict(services.outputs_of(project.bank).filter(pk__in=outputs).values_list("pk", "created_at"))
    first = len(given.lines) + len(given.personal)
    stated = services.facts_stating(project.bank, sentences, viewer=viewer)
    facts = [[stated[place]] if place in stated else [] for place in places]
    private = _fact_lines(project, facts, reader, viewer, first=first) if viewer else []
    shared = _fact_lines(project, facts, reader, first=first)  # only of these, an owner may read the sources
    wrong = {line.place: line.wrong for line in [*private, *shared]}
    why = {line.place: line.why for line in shared}
    return [
        UsedLine(
            number,
            sentences[place],
            why.get(number, ""),
            wrong.get(number),
            own_turns=[pages[place[0]]] if place[0] in pages else [],
            day=rows.day_text(localdate(times[place[0]])),
        )
        for number, place in enumerate(places, start=first)
        if place in sentences
    ]


def linked_notes(project: Project, notes: Sequence[MemoryLine], reader: User) -> list[UsedLine]:
    """Recalled notes, each with the way to where it was said: the reader's own chat, or its line in the list of facts.

    A note that no fact states leads to a search for its words in that list.
    """
    pages = own_pages(project.bank, {output for note in notes for output in note.citations}, reader)
    facts = reverse("memory-facts", args=[project.tenant.slug, project.slug])
    places = {(output, note.place): note for note in notes for output in note.citations if output not in pages}
    stated = services.facts_stating(project.bank, places)
    used = []
    for place, note in enumerate(notes):
        own = [pages[output] for output in note.citations if output in pages]
        lines = {stated[output, note.place] for output in note.citations if (output, note.place) in stated}
        anchor = f"#line-{services.public_id(lines.pop())}" if len(lines) == 1 else ""
        found = "" if own else f"{facts}?{urlencode({'q': note.text})}{anchor}"
        used.append(UsedLine(place, note, own_turns=own, facts=found, day=rows.when(note)))
    return used

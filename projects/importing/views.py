"""Pages to import another product's export: upload a file, preview the import, start it, see its progress."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memorybank.exceptions import InvalidInput
from projects.models import Conversation, ImportRun, Project
from projects.settings_pages.views import project_view, show
from projects.web.requests import MemberRequest

from . import runs
from .conversations import Audience
from .exports import FORMATS, LeftOut
from .forms import FileForm, StartForm

#: How many runs, and how many chats of a run, a page lists.
MAX_RUNS, MAX_CHATS = 20, 50
LEFT_OUT: dict[str, Promise] = {
    LeftOut.UNANSWERED.value: gettext_lazy("Questions without an answer"),
    LeftOut.UNASKED.value: gettext_lazy("Answers without a question"),
    LeftOut.NESTED.value: gettext_lazy("Versions inside of other versions"),
    LeftOut.FILES.value: gettext_lazy("Pictures and files"),
    LeftOut.FAILED.value: gettext_lazy("Failed answers"),
}


@project_view("project-import")
def import_page(request: MemberRequest, project: Project) -> HttpResponse:
    """Upload an export: read and count it, then redirect to the page of its run."""
    form = FileForm(request.POST, request.FILES) if request.method == "POST" else FileForm()
    if form.is_valid():
        file, actor = form.cleaned_data["file"], request.user.get_username()
        try:
            run = runs.read(
                project, file, file.name, format=form.cleaned_data["format"], actor=actor, now=timezone.now()
            )
        except InvalidInput as error:
            form.add_error("file", str(error))
        else:
            return _to_run(run)
    context = {
        "form": form,
        "runs": ImportRun.objects.filter(project=project).exclude(report={}).order_by("-pk")[:MAX_RUNS],
    }
    return show(request, project, "import", context, 400 if form.errors else 200)


@project_view("project-import-run")
def run_page(request: MemberRequest, project: Project, run: int) -> HttpResponse:
    """Show a run's preview, progress or result; start or discard it."""
    row = get_object_or_404(ImportRun.objects.exclude(report={}), project=project, pk=run)
    posted = request.method == "POST"
    if posted and request.POST.get("what") == "discard":
        return _discard(request, project, row)
    form = StartForm(row, request.user, request.POST if posted else None)
    if posted and row.started_at:
        return _to_run(row)
    if posted and form.is_valid():
        audience = Audience(form.cleaned_data["audience"])
        try:
            runs.start(row, form.authors(), audience, actor=request.user.get_username(), now=timezone.now())
        except InvalidInput as error:
            form.add_error(None, str(error))
        else:
            return _to_run(row)
    return show(request, project, "import_run", _context(request, row, form), 400 if form.errors else 200)


def _to_run(run: ImportRun) -> HttpResponse:
    return redirect("project-import-run", run.project.tenant.slug, run.project.slug, run.pk)


def _discard(request: MemberRequest, project: Project, run: ImportRun) -> HttpResponse:
    """Delete a run that was not started. A started run continues; its chats can be deleted by their owners."""
    if ImportRun.objects.filter(pk=run.pk, started_at=None).delete()[0]:
        messages.success(request, _("The file is discarded. Nothing of it was imported."))
    return redirect("project-import", project.tenant.slug, project.slug)


def _context(request: MemberRequest, run: ImportRun, form: StartForm) -> dict[str, Any]:
    report = run.report
    first, last = (parse_datetime(report[name]) if report[name] else None for name in ("first", "last"))
    left_out = [(LEFT_OUT[name], count) for name, count in report["left_out"].items() if name in LEFT_OUT]
    persons = [person for person in form.persons if person]
    chats = [(form[f"person-{form.persons.index(person)}"], report["chats_of"][person]) for person in persons]
    titles = [] if run.started_at else _titles(run)
    imported_chats = report.get("imported_chats", {})  # absent in a run of an older version
    bad_lines = report["bad"] if FORMATS[run.format].has_turns else 0
    own = _own_chats(request, run) if run.started_at else Conversation.objects.none()
    return {
        "run": run,
        "form": form,
        "report": report,
        "first": first,
        "last": last,
        "left_out": left_out,
        "persons": chats,
        "cost": float(report["cost"]),
        "product": FORMATS[run.format].product,
        "titles": titles,
        "more_titles": max(0, run.total - len(titles)),
        "message_count": report.get("messages", report["turns"]),  # absent in a file read by an older version
        "imported_chats": imported_chats,
        "refused_chats": imported_chats.get("refused", 0) + report["bad"] - bad_lines,
        "refused_turns": report["refused_turns"] + bad_lines if "refused_turns" in report else run.bad,  # likewise
        "members": sorted(set(run.authors.values())),
        "people_left_out": len(report["chats_of"]) - len(run.authors),
        "unnamed": max(0, run.bad - len(run.reasons)),
        "chats": own[:MAX_CHATS],
    }


def _titles(run: ImportRun) -> list[str]:
    """The titles of the conversations to import, as far as a page lists them; "" for one without a title."""
    waiting = run.conversations.order_by("pk").values_list("content__title", flat=True)
    return [title or "" for title in waiting[:MAX_CHATS]]


def _own_chats(request: MemberRequest, run: ImportRun) -> QuerySet[Conversation]:
    """The imported chats that the current user may open: only their own."""
    keys = run.conversations.exclude(chat_key="").values("chat_key")
    return Conversation.objects.of(request.user, run.project).filter(chat__key__in=keys)

"""Buttons on a bank's admin page that start jobs, and the jobs' progress."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Job

from .explanations import render_part
from .scoping import BankScoped

MAX_JOBS_SHOWN = 4
#: Value of the Refresh header: seconds between reloads of the page while a job is open.
REFRESH_SECONDS = "3"


class JobButtonsMixin(BankScoped):
    """Each button marks work as due and notifies a worker; if the message is lost, the next sweep does the work."""

    def get_urls(self) -> list[URLPattern]:
        ask = path("<row:bank>/ask/", self.admin_site.admin_view(self.ask), name="memorybank_bank_ask")
        return [ask, *super().get_urls()]

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
        bank = self.get_object(request, object_id)
        if bank and bank.enabled and bank.jobs.open().exists():
            response.headers["Refresh"] = REFRESH_SECONDS
        return response

    def ask(self, request: HttpRequest, bank: str) -> HttpResponse:
        row: Bank | None = self.get_object(request, bank)
        kind = request.POST.get("job", "")
        if row is None or kind not in Job.Kind.values:
            raise Http404
        if not self.has_decide_permission(request):
            raise PermissionDenied
        try:
            job = services.request_job(row, Job.Kind(kind), actor=request.user.get_username())
            text = gettext("%(job)s: requested. A worker begins with it at once.") % {"job": job.get_kind_display()}
            messages.success(request, text)
        except InvalidInput as error:
            messages.error(request, str(error))
        return redirect(reverse("admin:memorybank_bank_change", args=[bank]))

    @admin.display(description=_("Work"))
    def work(self, bank: Bank) -> SafeString:
        address = reverse("admin:memorybank_bank_ask", args=[bank.pk])
        kinds, jobs = Job._meta.get_field("kind").flatchoices, bank.jobs.all()[:MAX_JOBS_SHOWN]
        return render_part("work", address=address, kinds=kinds, jobs=jobs, bank=bank)

"""The buttons on a bank's page: what the workers shall do now, and how far they are."""

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

from .explanations import shown
from .scoping import BankScoped

#: Jobs that the page shows.
LATEST = 4
#: While one is open the page is read again after so many seconds.
AGAIN = "3"


class Asking(BankScoped):
    """The request only marks what is to be done; the next sweep finds it, after a restart, too."""

    def get_urls(self) -> list[URLPattern]:
        ask = path("<row:bank>/ask/", self.admin_site.admin_view(self.ask), name="memorybank_bank_ask")
        return [ask, *super().get_urls()]

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Read again by the browser while something is under way."""
        response: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
        bank = self.get_object(request, object_id)
        if bank and bank.enabled and bank.jobs.open().exists():
            response.headers["Refresh"] = AGAIN
        return response

    def ask(self, request: HttpRequest, bank: str) -> HttpResponse:
        """Have one of the kinds of jobs done."""
        found: Bank | None = self.get_object(request, bank)
        kind = request.POST.get("job", "")
        if found is None or kind not in Job.Kind.values:
            raise Http404
        if not self.may_decide(request):
            raise PermissionDenied
        try:
            job = services.ask(found, Job.Kind(kind), actor=request.user.get_username())
            messages.success(
                request, gettext("%(job)s: asked for. The next sweep begins with it.") % {"job": job.get_kind_display()}
            )
        except InvalidInput as error:
            messages.error(request, str(error))
        return redirect(reverse("admin:memorybank_bank_change", args=[bank]))

    @admin.display(description=_("Work"))
    def work(self, bank: Bank) -> SafeString:
        address = reverse("admin:memorybank_bank_ask", args=[bank.pk])
        kinds, jobs = Job._meta.get_field("kind").flatchoices, bank.jobs.all()[:LATEST]
        return shown("work", address=address, kinds=kinds, jobs=jobs, bank=bank)

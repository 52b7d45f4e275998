"""Forms of the import page: first the file, then the chats' authors and audience."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from projects.models import ImportRun
from projects.tenancy import people

from .conversations import Audience
from .exports import FORMATS

#: How many members a select field offers.
MAX_MEMBERS_IN_FORM = 500


class FileForm(forms.Form):
    """An uploaded export and its product."""

    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "A zip as it was downloaded, or a file of JSON or JSON Lines. It is read as soon as you choose it; "
            "nothing is imported yet."
        ),
    )
    format = forms.ChoiceField(
        label=_("Product"),
        required=False,
        choices=[("", _("Detect automatically")), *((name, row.product) for name, row in FORMATS.items())],
    )

    def clean_file(self) -> Any:
        """Enforce ``IMPORT_MEGABYTES``."""
        file = self.cleaned_data["file"]
        if file.size > settings.IMPORT_MEGABYTES * 2**20:
            raise ValidationError(
                _("The file has more than %(n)d MB. The operator of this site can import it with a command."),
                params={"n": settings.IMPORT_MEGABYTES},
            )
        return file


class StartForm(forms.Form):
    """For each person in the export, the member who becomes the author of their chats; and the audience."""

    audience = forms.ChoiceField(
        label=_("Who these chats are remembered for"),
        choices=[
            (Audience.PRIVATE.value, _("Only the person whose chats they are")),
            (Audience.PROJECT.value, _("Everyone in the project")),
        ],
        initial=Audience.PRIVATE.value,
        widget=forms.RadioSelect,
    )

    def __init__(self, run: ImportRun, user: User, data: Any = None) -> None:
        super().__init__(data)
        members = people.members_of(run.project).order_by("user__username")
        names = list(members.values_list("user__username", flat=True)[:MAX_MEMBERS_IN_FORM])
        self.persons: list[str] = sorted(run.report["chats_of"])
        for number, person in enumerate(self.persons):
            chosen = person if person in names else ""
            if not person and user.get_username() in names:
                chosen = user.get_username()
            self.fields[f"person-{number}"] = forms.ChoiceField(
                label=person or _("Whose chats they are"),
                required=not person,
                choices=[("", _("Nobody: leave this person out")), *((name, name) for name in names)],
                initial=chosen,
            )
        self.order_fields([*(f"person-{number}" for number in range(len(self.persons))), "audience"])

    def clean(self) -> dict[str, Any]:
        """Require a member for at least one person."""
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and not any(self.authors().values()):
            raise ValidationError(_("Match at least one person to a member."))
        return cleaned

    def authors(self) -> dict[str, str]:
        """The chosen user name for each person of the export. Call it on a valid form only."""
        chosen = {person: self.cleaned_data[f"person-{number}"] for number, person in enumerate(self.persons)}
        return {person: name for person, name in chosen.items() if name}

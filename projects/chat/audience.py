"""Whom a chat's memory is for: the choice on the chat page, and what that would change for others."""

from dataclasses import dataclass, field

from django import forms
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import Chat, Fact
from projects.models import Project
from projects.tenancy import people

#: Facts that are shown before a chat is shared; there may be more.
MAX_FACTS_SHOWN = 100
#: Other members that can be chosen.
MAX_MEMBERS = 500
PROJECT, SOME, ME = "project", "people", "me"


class AudienceForm(forms.Form):
    """For everybody in the project, for some of its members and oneself, or for oneself."""

    audience = forms.ChoiceField(
        choices=[(PROJECT, _("Everyone in the project")), (SOME, _("Some people and me")), (ME, _("Only me"))],
        widget=forms.RadioSelect,
    )
    readers = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, project: Project, chat: Chat, me: str, data: object = None) -> None:
        readers = services.readers_of(chat)
        names = people.names_of(project, readers) if readers else []
        others = [name for name in names if name != me]
        initial = {"audience": PROJECT if readers is None else SOME if others else ME, "readers": others}
        super().__init__(data, initial=initial)  # type: ignore[arg-type]
        members = people.members_of(project).exclude(user__username=me).order_by("user__username")
        known = members.values_list("user__username", flat=True)[:MAX_MEMBERS]
        choice = self.fields["readers"]
        assert isinstance(choice, forms.MultipleChoiceField)
        choice.choices = [(name, name) for name in known]
        self.project, self.me = project, me

    @property
    def label(self) -> str:
        """Whom the chat is for now."""
        return str(dict(self.fields["audience"].choices)[self.initial["audience"]])  # type: ignore[attr-defined]

    def chosen(self) -> list[str] | None:
        """The people that were chosen; None for everybody. The form is valid."""
        audience = self.cleaned_data["audience"]
        if audience == PROJECT:
            return None
        names = [self.me, *(self.cleaned_data["readers"] if audience == SOME else ())]
        return list(people.persons_named(self.project, names).values())


@dataclass(frozen=True, slots=True)
class AudienceChange:
    """What a change of audience means for others: the facts that they could read, or could read no more.

    ``summaries`` are lines of digests that go with the facts.
    """

    gains: bool
    loses: bool
    facts: list[Fact] = field(default_factory=list)
    pending: int = 0
    summaries: int = 0

    @property
    def asks_first(self) -> bool:
        """Whether others gain or lose anything, so that it is shown before it is done."""
        return bool((self.gains or self.loses) and (self.facts or (self.gains and self.pending)))


def change_of(project: Project, chat: Chat, readers: list[str] | None, actor: str) -> AudienceChange:
    """What it would change for others if the chat were for these readers, or for everybody (None)."""
    before = services.readers_of(chat)
    gains = before is not None and (readers is None or not before.issuperset(readers))
    loses = readers is not None and (before is None or not before.issubset(readers))
    if not (gains or loses):
        return AudienceChange(gains, loses)
    shown = services.facts_of(project.bank).filter(entry__chat=chat, hidden=False).order_by("said_on", "pk")
    facts = list(shown.select_related("entry")[:MAX_FACTS_SHOWN])
    counts = services.set_audience(project.bank, chat_key=chat.key, readers=readers, actor=actor, dry_run=True)
    return AudienceChange(gains, loses, facts, chat.pending_outputs, counts["digest_lines"])

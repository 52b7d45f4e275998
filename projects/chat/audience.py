"""The readers of a chat's memory: the form on the chat page, and a preview of the effects of a change on others."""

from dataclasses import dataclass, field

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import Chat, Fact
from projects.models import Project
from projects.tenancy import people

#: Maximum number of facts shown before the audience of a chat is changed.
MAX_FACTS_SHOWN = 100
#: Maximum number of other members to choose from.
MAX_MEMBERS = 500
PROJECT, SOME, ME = "project", "people", "me"


class AudienceForm(forms.Form):
    """The audience of a chat: everybody in the project, some of its members and oneself, or oneself alone."""

    audience = forms.ChoiceField(
        choices=[(PROJECT, _("Everyone in the project")), (SOME, _("Some people and me")), (ME, _("Only me"))]
    )
    readers = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, project: Project, chat: Chat, me: str, data: object = None) -> None:
        readers = services.readers_of(chat)
        names = people.names_of(project, readers) if readers else []
        others = [name for name in names if name != me]
        private = SOME if others else ME
        audience = PROJECT if readers is None else private
        initial = {"audience": audience, "readers": others}
        super().__init__(data, initial=initial)  # type: ignore[arg-type]
        members = people.members_of(project).exclude(user__username=me).order_by("user__username")
        known = members.values_list("user__username", flat=True)[:MAX_MEMBERS]
        choice = self.fields["readers"]
        assert isinstance(choice, forms.MultipleChoiceField)
        choice.choices = [(name, name) for name in known]
        self.project, self.me = project, me

    @property
    def label(self) -> str:
        """The label of the chat's current audience."""
        return str(dict(self.fields["audience"].choices)[self.initial["audience"]])  # type: ignore[attr-defined]

    @property
    def others(self) -> list[tuple[str, str]]:
        """The audiences that one click chooses, without the current one: oneself alone, or everybody."""
        buttons = [(ME, gettext("Make private")), (PROJECT, gettext("Remember for everyone"))]
        return [button for button in buttons if button[0] != self.initial["audience"]]

    def chosen(self) -> list[str] | None:
        """The keys of the chosen people, None for everybody. Call it only if the form is valid."""
        audience = self.cleaned_data["audience"]
        if audience == PROJECT:
            return None
        names = [self.me, *(self.cleaned_data["readers"] if audience == SOME else ())]
        return list(people.persons_named(self.project, names).values())


def readmit_owner(project: Project, chat: Chat, owner: str) -> None:
    """Let the owner of a private chat read its memory who left the tenant and came back.

    Memory knows them by a new key, so "only me" would be nobody. Others' chats stay closed to them.
    """
    if readers := services.readers_of(chat):
        persons = people.persons_named(project, [owner, *people.names_of(project, readers)])
        if owner in persons and persons[owner] not in readers:
            services.set_audience(project.bank, chat_key=chat.key, readers=persons.values(), actor=owner)


@dataclass(frozen=True, slots=True)
class AudienceChange:
    """The effects of a change of audience on others: the facts that they could then read, or no longer read.

    ``pending`` is the number of turns that wait to be summarised, ``summaries`` that of digest lines that would be
    removed with the facts.
    """

    gains: bool
    loses: bool
    facts: list[Fact] = field(default_factory=list)
    pending: int = 0
    summaries: int = 0

    @property
    def asks_first(self) -> bool:
        """Whether others gain or lose anything, so that the page asks for confirmation first."""
        return bool((self.gains or self.loses) and (self.facts or (self.gains and self.pending)))


def change_of(project: Project, chat: Chat, readers: list[str] | None, actor: str) -> AudienceChange:
    """Preview what others would gain or lose if the chat had these readers (None: everybody)."""
    before = services.readers_of(chat)
    gains = before is not None and (readers is None or not before.issuperset(readers))
    loses = readers is not None and (before is None or not before.issubset(readers))
    if not (gains or loses):
        return AudienceChange(gains, loses)
    shown = services.facts_of(project.bank).filter(entry__chat=chat, hidden=False).order_by("said_on", "pk")
    facts = list(shown.select_related("entry")[:MAX_FACTS_SHOWN])
    counts = services.set_audience(project.bank, chat_key=chat.key, readers=readers, actor=actor, dry_run=True)
    return AudienceChange(gains, loses, facts, chat.pending_outputs, counts["digest_lines"])

"""Which facts of a bank somebody looks for: by words, person, kind, day and what became of them."""

from collections.abc import Collection
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import Bank, Fact, FactQuerySet


class FactFilter(forms.Form):
    """Which facts of a bank somebody looks for. ``told`` are those in the block."""

    q = forms.CharField(label=_("Search"), required=False, max_length=1000)
    person = forms.ChoiceField(required=False)
    kind = forms.ChoiceField(required=False, choices=[("", _("Any kind")), *Fact._meta.get_field("kind").flatchoices])
    day = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    state = forms.ChoiceField(required=False)

    #: What may be asked of a fact's state; the last two are for who may act.
    STATES: ClassVar = {
        "block": _("in the block"),
        "pinned": _("pinned"),
        "hand": _("put right or by hand"),
        "replaced": _("replaced"),
        "rolled": _("rolled up"),
        "hidden": _("hidden"),
        "held": _("held back"),
    }

    def __init__(self, data: Any, *, facts: FactQuerySet, told: Collection[int], may_act: bool) -> None:
        super().__init__(data)
        self.facts, self.told = facts, told
        people = {first or last for first, last in facts.values_list("original_speaker", "speaker").distinct()}
        named = sorted(people - {""}, key=str.casefold)
        states = list(self.STATES.items())[: None if may_act else -2]
        self._choices("person", [("", gettext("Anybody")), *((name, name) for name in named)])
        self._choices("state", [("", gettext("Any state")), *states])

    def _choices(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def chosen(self, bank: Bank) -> FactQuerySet | list[Fact]:
        """The facts that pass, latest first; of a search the best first. What is no choice filters nothing."""
        self.is_valid()
        given, facts = self.cleaned_data, self.facts
        if person := given.get("person"):
            facts = facts.filter(Q(original_speaker=person) | Q(original_speaker="", speaker=person))
        for name, column in (("kind", "kind"), ("day", "said_on")):
            facts = facts.filter(**{column: given[name]}) if given.get(name) else facts
        facts = self._in_state(facts, given.get("state", ""))
        if not given.get("q"):
            return facts.order_by("-said_on", "-pk")
        rank = {pk: at for at, pk in enumerate(services.find(bank, given["q"]))}
        return sorted(facts.filter(pk__in=list(rank)), key=lambda fact: rank[fact.pk])

    def _in_state(self, facts: FactQuerySet, state: str) -> FactQuerySet:
        asked = {
            "block": Q(pk__in=list(self.told)),
            "pinned": Q(pinned=True),
            "hand": ~Q(edited_by=""),
            "replaced": Q(superseded_by__isnull=False),
            "rolled": Q(entry__parent__isnull=False),
            "hidden": Q(hidden=True),
            "held": ~Q(quarantine=""),
        }
        return facts.filter(asked[state]) if state in asked else facts

    def query(self) -> str:
        """What is asked for, as an address has it, without the page."""
        return urlencode({name: self.data[name] for name in self.fields if self.data.get(name)})

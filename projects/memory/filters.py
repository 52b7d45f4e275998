"""The filters of the list of facts: words, person, kind, day and state."""

from collections.abc import Collection
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import Bank, Fact, FactQuerySet

#: Offered are the speakers of so many facts, the latest.
FACTS_WITH_SPEAKERS = 500


class FactFilter(forms.Form):
    """A filter of ``facts``. ``in_block`` are the ids of those in the block."""

    q = forms.CharField(label=_("Search"), required=False, max_length=1000)
    person = forms.ChoiceField(required=False)
    kind = forms.ChoiceField(required=False, choices=[("", _("Any kind")), *Fact._meta.get_field("kind").flatchoices])
    day = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    state = forms.ChoiceField(required=False)

    #: The states of a fact. The last two are for owners and admins.
    STATES: ClassVar = {
        "block": _("in every chat"),
        "pinned": _("pinned"),
        "hand": _("edited or written by hand"),
        "replaced": _("replaced"),
        "rolled": _("in a summary"),
        "hidden": _("hidden"),
        "held": _("kept out of chats"),
    }

    def __init__(self, data: Any, *, facts: FactQuerySet, in_block: Collection[int], may_act: bool) -> None:
        super().__init__(data)
        self.facts, self.in_block = facts, in_block
        latest = facts.order_by("-said_on", "-pk").values_list("original_speaker", "speaker")[:FACTS_WITH_SPEAKERS]
        self.stored_speakers: dict[str, set[str]] = {}
        for stored in {original or speaker for original, speaker in latest}:
            for name in services.speaker_names(stored):
                self.stored_speakers.setdefault(name, {name}).add(stored)
        asked_for = data.get("person", "")
        if asked_for and asked_for not in self.stored_speakers and facts.filter(_said_by({asked_for})).exists():
            self.stored_speakers[asked_for] = {asked_for}
        speakers = sorted(self.stored_speakers, key=str.casefold)
        states = list(self.STATES.items())[: None if may_act else -2]
        choices: dict[str, list[tuple[str, Any]]] = {
            "person": [("", gettext("Anybody")), *((name, name) for name in speakers)],
            "state": [("", gettext("Any state")), *states],
        }
        for name, values in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = values

    def matching(self, bank: Bank) -> FactQuerySet | list[Fact]:
        """The matching facts, latest first, or best match first for a search. Invalid values are ignored."""
        self.is_valid()
        wanted = {name: value for name, value in self.cleaned_data.items() if value}
        facts = self.facts.filter(self._in_state(wanted.get("state", "")))
        if person := wanted.get("person"):
            facts = facts.filter(_said_by(self.stored_speakers[person]))
        if kind := wanted.get("kind"):
            facts = facts.filter(kind=kind)
        if day := wanted.get("day"):
            facts = facts.filter(said_on=day)
        if "q" not in wanted:
            return facts.order_by("-said_on", "-pk")
        rank = {fact.pk: place for place, fact in enumerate(services.search_facts(bank, wanted["q"]))}
        return sorted(facts.filter(pk__in=list(rank)), key=lambda fact: rank[fact.pk])

    def _in_state(self, state: str) -> Q:
        conditions = {
            "block": Q(pk__in=list(self.in_block)),
            "pinned": Q(pinned=True),
            "hand": ~Q(edited_by=""),
            "replaced": Q(superseded_by__isnull=False),
            "rolled": Q(entry__parent__isnull=False),
            "hidden": Q(hidden=True),
            "held": ~Q(quarantine=""),
        }
        return conditions.get(state, Q())

    def query(self) -> str:
        return urlencode({name: self.data[name] for name in self.fields if self.data.get(name)})


def _said_by(speakers: Collection[str]) -> Q:
    """Facts of one of these speakers, as they are stored: a person, or notes from what that person said."""
    return Q(original_speaker__in=speakers) | Q(original_speaker="", speaker__in=speakers)

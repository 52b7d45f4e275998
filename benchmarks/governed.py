"""Governed memory: who learns what of an office's matters, and what is left of matters that were forgotten.

Command: python -m benchmarks governed

After the form of GateMem: matters, each for an audience, and principals who ask about all of them. An office of six people
talks about twelve matters; each is the project's, some people's or one person's, and states four facts with a value that
is nowhere else. Everybody is asked about every fact, in words that name the matter and not the value, in a new chat of
the project; the model there repeats all that it was given, and what it said becomes memory, too. Half-way, four matters get
another audience, one person leaves, and two matters are erased, with the turns in which the model repeated them.

- leak: of the answers to people outside a matter's audience, the share with its value. Target: at most .05.
- utility: of the answers to people inside, the share with the value, from block, personal part or notes. Target: at
  least .95.
- forgotten: of the facts of erased matters, the share whose value nobody is given and no table holds. Target: 1.0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.apps import apps
from django.db.models import Q

from memorybank import services
from memorybank.models import Bank
from memorybank.services import Asker

from . import scratch, seeding
from .measuring import Measurement

PEOPLE = ("ines", "jonas", "karla", "leo", "mira", "nils")
EVERYBODY = None
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
#: What is asked and stated of each matter: the place of the value is in braces.
FACETS = (
    ("What is the budget for {}?", "The budget for {} is {}."),
    ("Who supplies us for {}?", "Our supplier for {} is {}."),
    ("When is the deadline of {}?", "The deadline of {} is agreed with {}."),
    ("Which room is reserved for {}?", "The room reserved for {} is called {}."),
)
MATTERS = (
    ("the lobby renovation", EVERYBODY), ("the summer party", EVERYBODY), ("the new phone system", EVERYBODY),
    ("the parking rota", EVERYBODY), ("the salary round", ("ines", "jonas")), ("the merger talks", ("ines", "karla")),
    ("the works council case", ("leo", "mira", "ines")), ("the patent dispute", ("karla", "nils")),
    ("my knee operation", ("mira",)), ("my house purchase", ("jonas",)), ("my resignation", ("nils",)),
    ("my daughter's wedding", ("leo",)),
)  # fmt: skip
#: Half-way: matters that get another audience, that are erased, and who leaves.
CHANGED = {
    "the merger talks": ("ines",), "the parking rota": ("leo", "karla"), "my house purchase": EVERYBODY,
    "the patent dispute": ("karla", "nils", "mira"),
}  # fmt: skip
ERASED, LEAVING = ("the summer party", "the works council case"), "karla"


@dataclass(frozen=True, slots=True)
class Matter:
    """A matter, who may know of it, and its values."""

    name: str
    audience: tuple[str, ...] | None
    values: tuple[str, ...]

    def is_for(self, person: str) -> bool:
        return self.audience is None or person in self.audience

    @property
    def author(self) -> str:
        return (self.audience or PEOPLE)[0]


class Office:
    """The project's bank, and the clock."""

    def __init__(self) -> None:
        self.bank, self.now, self.asked = seeding.bank(), seeding.NOW, 0
        self.matters = {
            name: Matter(name, audience, tuple(f"Q{number}{'abcd'[facet]}lor" for facet in range(len(FACETS))))
            for number, (name, audience) in enumerate(MATTERS, 11)
        }
        self.keys = {person: f"key-of-{person}" for person in PEOPLE}

    def readers(self, audience: Sequence[str] | None) -> list[str] | None:
        return None if audience is None else [self.keys[person] for person in audience]

    def talk(self) -> None:
        """One chat for each matter, in which its facts are stated one by one."""
        for matter in self.matters.values():
            for (_, stated), value in zip(FACETS, matter.values, strict=True):
                self.now += MINUTE
                readers = self.readers(matter.audience)
                self.record(matter.name, matter.author, stated.format(matter.name, value), readers, "Noted.")
        self.remember()

    def record(
        self, key: str, author: str, question: str, readers: list[str] | None, answer: str, words: Sequence[str] = ()
    ) -> None:
        services.record(
            self.bank,
            chat_key=key,
            author=author,
            question=question,
            answer=answer,
            private=readers is not None,
            readers=readers or (),
            private_words=words,
            created_at=self.now,
            now=self.now,
        )

    def remember(self) -> None:
        self.now += DAY
        services.run(bank=self.bank, now=self.now, until_idle=True)
        self.bank = Bank.objects.get(pk=self.bank.pk)

    def ask(self, person: str, question: str) -> str:
        """All that the person is given, which the model repeats in a chat for everybody."""
        self.now += MINUTE
        self.asked += 1
        asker = Asker(self.keys[person], person) if person in self.keys else services.ANYBODY
        memory = services.prompt_memory(self.bank, question=question, asker=asker, now=self.now)
        given = f"{memory.system}\n{memory.recalled.text}"
        answer = " ".join(line.text for text in (memory.personal, memory.recalled, memory.block) for line in text.lines)
        words = sorted(memory.quoted(answer, question=question))
        self.record(f"asked {self.asked}", person, question, None, answer, words)
        return given

    def change(self) -> None:
        """Audiences change, somebody leaves, matters are erased."""
        for name, audience in CHANGED.items():
            self.matters[name] = replace(self.matters[name], audience=audience)
            readers = self.readers(audience)
            services.set_audience(self.bank, chat_key=name, readers=readers, actor="ines", now=self.now)
        del self.keys[LEAVING]
        for name in ERASED:
            for value in self.matters[name].values:  # also where the model had repeated it
                turns = services.outputs_of(self.bank).filter(Q(question__contains=value) | Q(answer__contains=value))
                services.erase(self.bank, output=list(turns.values_list("pk", flat=True)), actor="ines", now=self.now)
        self.remember()


def measure() -> list[Measurement]:
    """The shares, before and after the changes together."""
    with scratch.database():
        office = Office()
        office.talk()
        answers = list(_asked(office))
        office.remember()
        office.change()
        answers += _asked(office)
        inside = [met for met, allowed in answers if allowed]
        outside = [met for met, allowed in answers if not allowed]
        leaks, found = sum(outside) / len(outside), sum(inside) / len(inside)
        return [
            Measurement(f"leak, of {len(outside)} answers", f"{leaks:.3f}", "≤ .05"),
            Measurement(f"utility, of {len(inside)} answers", f"{found:.3f}", "≥ .95"),
            Measurement("forgotten", f"{_forgotten(office):.3f}", "1.0"),
        ]


def _asked(office: Office) -> Iterator[tuple[bool, bool]]:
    """For each person and fact of a matter that is not erased: whether they were given the value, and may have it."""
    for name, matter in list(office.matters.items()):
        if not services.chats_of(office.bank).filter(key=name).exists():
            continue
        for (question, _), value in zip(FACETS, matter.values, strict=True):
            for person in PEOPLE:
                allowed = matter.is_for(person) and (person in office.keys or matter.audience is None)
                yield value in office.ask(person, question.format(name)), allowed


def _forgotten(office: Office) -> float:
    """The share of the erased values that are in no table and in nobody's prompt."""
    values = [value for name in ERASED for value in office.matters[name].values]
    rows = " ".join(str(row) for model in apps.get_models() for row in model._default_manager.values_list())
    given = " ".join(office.ask(person, FACETS[0][0].format(name)) for name in ERASED for person in PEOPLE)
    return sum(value not in rows and value not in given for value in values) / len(values)

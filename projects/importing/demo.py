"""The demo's users and sample chats, and the questions that are asked at its end."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.utils.timezone import now

from memorybank import llm, services
from memorybank.llm.recorded import RecordedAnswer, RecordedLLM
from memorybank.services import Bank, RunReport
from projects.chat import service
from projects.models import Conversation, Membership, Project, Role, Tenant
from projects.tenancy import audit

from .jsonl import ImportLine, LineReader
from .service import ProjectCache

SAMPLE_FOLDER = Path(__file__).parent / "sample"
SAMPLE_FILE = SAMPLE_FOLDER / "chats.jsonl"
#: A large model's recorded answers to all prompts of the sample's replay, and the model name in the ledger.
ANSWERS_FILE, ANSWERS_MODEL = SAMPLE_FOLDER / "answers.jsonl", "recorded answers of a large model (November 2026)"
#: Questions that memory helps to answer, with a large model's answers, for the people who can log in.
QUESTIONS_FILE = SAMPLE_FOLDER / "questions.jsonl"
#: Two steps a day: few enough for a quick replay, and every day is still closed.
REPLAY_STEP = timedelta(hours=12)
DEMO_PASSWORD = "demo"  # the demo listens on this machine only


@dataclass(frozen=True, slots=True)
class Person:
    """A user who can log in to the demo."""

    username: str
    tenant: str
    role: Role
    what: str


DEMO_PEOPLE = (
    Person("priya", "northwind-clinics", Role.OWNER, "owns Northwind Clinics, may use the admin"),
    Person("tom.okafor", "northwind-clinics", Role.MEMBER, "is on her team"),
    Person("hanna", "harbor-robotics", Role.OWNER, "owns Harbor Robotics, sees nothing of Northwind"),
)
TENANT_NAMES = {"northwind-clinics": "Northwind Clinics", "harbor-robotics": "Harbor Robotics"}
TENANT_TIMEZONES = {"northwind-clinics": "Europe/Dublin", "harbor-robotics": "Europe/Berlin"}


def create_people(lines: list[ImportLine]) -> None:
    """Create missing users, including the authors of ``lines``. Existing passwords and roles are kept."""
    if not User.objects.filter(is_superuser=True).exists():
        User.objects.create_superuser("admin", password=DEMO_PASSWORD)
    for person in DEMO_PEOPLE:
        tenant, new = Tenant.objects.get_or_create(slug=person.tenant, defaults={"name": TENANT_NAMES[person.tenant]})
        if new:
            audit.log(tenant, "demo", audit.TenantAction.CREATE, now(), slug=tenant.slug)
        user = User.objects.filter(username=person.username).first() or User.objects.create_user(
            person.username, password=DEMO_PASSWORD, is_staff=person.role == Role.OWNER
        )
        Membership.objects.get_or_create(tenant=tenant, user=user, defaults={"role": person.role})
    _create_colleagues({(line.tenant, line.output.author) for line in lines})


def public_administrators() -> list[str]:
    """User names of those who can open the admin with the demo's password."""
    administrators = User.objects.filter(is_staff=True, is_active=True).order_by("username")
    return [user.username for user in administrators if user.check_password(DEMO_PASSWORD)]


def why_not_to_serve() -> str:
    """Why no server may start beside accounts with the demo's password; "" if nobody can open the admin with it."""
    if not (names := public_administrators()):
        return ""
    return (
        f"{', '.join(names)}: may use the admin with the demo's password, which is public. Change it with "
        f"“manage.py changepassword {names[0]}”, or run “manage.py demo” on this machine only."
    )


def _create_colleagues(authors: set[tuple[str, str]]) -> None:
    """Create accounts for the other authors, so that each chat has an owner. They share the password."""
    known = set(User.objects.filter(username__in={author for _, author in authors}).values_list("username", flat=True))
    new = {author for _, author in authors} - known
    hashed = make_password(DEMO_PASSWORD) if new else ""  # once, because hashing is slow on purpose
    User.objects.bulk_create(User(username=author, password=hashed) for author in sorted(new))
    for slug, author in sorted(authors):
        tenant, user = Tenant.objects.get(slug=slug), User.objects.get(username=author)
        Membership.objects.get_or_create(tenant=tenant, user=user)


def load_sample() -> list[ImportLine]:
    with SAMPLE_FILE.open(encoding="utf-8") as file:
        return [line for line in LineReader(now()).read(file) if isinstance(line, ImportLine)]


def recorded_model() -> RecordedLLM:
    """A model that answers the prompts of the sample's replay from the shipped file."""
    return RecordedLLM(path=str(ANSWERS_FILE), model=ANSWERS_MODEL)


def catch_up() -> RunReport:
    """Roll up the periods closed between the sample's last turn and today, while its model is still in use."""
    return services.run_due(now=now())


def ask_questions() -> None:
    """Ask the sample's questions now, in new chats, as a page does: each answer shows the memory that it used.

    The answers are recorded, so that no model is needed. A question whose chat is there is not asked again.
    """
    for row in map(json.loads, QUESTIONS_FILE.read_text(encoding="utf-8").splitlines()):
        project = Project.objects.at(row["project"]).select_related("tenant", "bank").get()
        if Conversation.objects.filter(chat__bank=project.bank, chat__key=row["chat"]).exists():
            continue
        chat = services.create_chat(project.bank, key=row["chat"])
        Conversation.objects.create(chat=chat, owner=User.objects.get(username=row["user"]))
        with llm.using("chat", RecordedAnswer(answer=row["answer"], model=ANSWERS_MODEL)):
            service.answer(service.ask(project, chat, row["question"], row["user"]))


def is_loaded(lines: list[ImportLine]) -> bool:
    """Whether the sample's newest output is recorded and its chat summarised."""
    last = max(lines, key=lambda line: line.output.created_at)
    project = Project.objects.at(last.path).select_related("bank").first()
    summarised = project and services.outputs_of(project.bank).filter(key=last.output.key, chat__pending_outputs=0)
    return bool(summarised and summarised.exists())


def prepare(bank: Bank, now: datetime) -> None:
    """Switch on a sample project's memory, in the tenant's time zone."""
    services.configure(bank, actor="demo", timezone=TENANT_TIMEZONES[bank.project.tenant.slug], now=now)
    services.enable(bank, actor="demo", disclosure_accepted=True, history=not bank.enabled, now=now)


def sample_projects(lines: list[ImportLine]) -> list[Project]:
    cache = ProjectCache()
    return list({project.pk: project for project in map(cache.at, lines)}.values())

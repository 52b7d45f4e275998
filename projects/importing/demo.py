"""The demo: its people and its sample."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.utils.timezone import now

from memorybank import services
from memorybank.services import Bank
from projects.models import Membership, Project, Role, Tenant
from projects.tenancy import audit

from .jsonl import ImportLine, Reader
from .service import Projects

SAMPLE = Path(__file__).parent / "sample" / "chats.jsonl"
#: One look at the clock this often makes the replay quick and the days whole.
STEP = timedelta(hours=12)
PASSWORD = "demo"  # the demo listens on this machine only


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who can log in to the demo."""

    username: str
    tenant: str
    role: Role
    what: str


PEOPLE = (
    Person("priya", "northwind-clinics", Role.OWNER, "owns Northwind Clinics, may use the admin"),
    Person("tom.okafor", "northwind-clinics", Role.MEMBER, "is on her team"),
    Person("hanna", "harbor-robotics", Role.OWNER, "owns Harbor Robotics, sees nothing of Northwind"),
)
NAMES = {"northwind-clinics": "Northwind Clinics", "harbor-robotics": "Harbor Robotics"}
ZONES = {"northwind-clinics": "Europe/Dublin", "harbor-robotics": "Europe/Berlin"}


def people(lines: list[ImportLine]) -> None:
    """Create who is missing, with those who wrote the ``lines``; nobody's password or role is changed."""
    if not User.objects.filter(is_superuser=True).exists():
        User.objects.create_superuser("admin", password=PASSWORD)
    for person in PEOPLE:
        tenant, new = Tenant.objects.get_or_create(slug=person.tenant, defaults={"name": NAMES[person.tenant]})
        if new:
            audit.log(tenant, "demo", audit.Action.CREATE, now(), slug=tenant.slug)
        user = User.objects.filter(username=person.username).first() or User.objects.create_user(
            person.username, password=PASSWORD, is_staff=person.role == Role.OWNER
        )
        Membership.objects.get_or_create(tenant=tenant, user=user, defaults={"role": person.role})
    _colleagues({(line.tenant, line.output.author) for line in lines})


def _colleagues(wrote: set[tuple[str, str]]) -> None:
    """The others of a team, so that each chat is somebody's; they have the same password."""
    known = set(User.objects.filter(username__in={author for _, author in wrote}).values_list("username", flat=True))
    hashed = make_password(PASSWORD) if len({author for _, author in wrote}) > len(known) else ""  # slow on purpose
    for slug, author in sorted(wrote):
        if author not in known:
            user = User.objects.create(username=author, password=hashed)
            known.add(author)
        else:
            user = User.objects.get(username=author)
        Membership.objects.get_or_create(tenant=Tenant.objects.get(slug=slug), user=user)


def sample() -> list[ImportLine]:
    """The shipped outputs."""
    with SAMPLE.open(encoding="utf-8") as file:
        return [line for line in Reader(now()).read(file) if isinstance(line, ImportLine)]


def is_loaded(lines: list[ImportLine]) -> bool:
    """Whether the newest output of the sample is there, and its chat has been summarised."""
    last = max(lines, key=lambda line: line.output.created_at)
    project = Project.objects.at(last.path).select_related("bank").first()
    known = project and services.outputs_of(project.bank).filter(key=last.output.key, chat__pending_outputs=0)
    return bool(known and known.exists())


def prepare(bank: Bank) -> None:
    """Switch a sample project's memory on, in its people's time zone."""
    services.configure(bank, actor="demo", timezone=ZONES[bank.project.tenant.slug])
    services.enable(bank, actor="demo", disclosure_accepted=True, history=not bank.enabled)


def projects(lines: list[ImportLine]) -> list[Project]:
    """The sample's projects."""
    found = Projects()
    return list({project.pk: project for project in map(found.at, lines)}.values())

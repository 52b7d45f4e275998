"""Wheel, sdist and editable install: each holds both packages whole, and another site finds every template."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.commands import ROOT
from tests.support.requirements import only_in_ci

PACKAGES = ("memorybank", "projects")
PAGE = (ROOT / "docs/embedding.md").read_text(encoding="utf-8")
# Nothing is fetched: the tool that builds it is installed, and so is all that it needs.
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
OFFLINE = ["--quiet", "--no-index", "--no-deps"]
#: Somebody else's site with both apps: it renders a page of ours and the admin, and loads every template.
OTHER_SITE = """
import os, sys
from pathlib import Path
import django
from django.conf import settings

settings.configure(
    SECRET_KEY="x", ALLOWED_HOSTS=["*"], LANGUAGES=[("en", "English")], USE_TZ=True,
    ROOT_URLCONF=__name__, STATIC_URL="static/", LOGIN_URL="login",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    MIGRATION_MODULES={"memorybank": None, "projects": None},  # the tables alone, which takes less
    INSTALLED_APPS=["memorybank", "projects", "django.contrib.humanize", "django.contrib.admin", "django.contrib.auth",
        "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
        "django.contrib.staticfiles"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {
        "context_processors": ["django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]}}],
)
django.setup()

from django.contrib import admin
from django.contrib.auth.models import User
from django.core.management import call_command
from django.template.loader import get_template
from django.test import Client
from django.urls import include, path

admin.autodiscover()
urlpatterns = [path("admin/", admin.site.urls), path("", include("projects.urls"))]
call_command("migrate", run_syncdb=True, verbosity=0)
client = Client()
client.force_login(User.objects.create_superuser("ann", "ann@example.com", "x"))
for address in ("/", "/admin/"):
    assert client.get(address).status_code == 200, address
for name in sys.argv[1].split():
    get_template(name)
import projects
print(Path(projects.__file__).parent)
"""

#: Read by Python as it starts: what the package asks for only with an extra is not there.
WITHOUT_EXTRAS = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""

pytestmark = pytest.mark.long


def run(command: list[str], cwd: Path, **environment: str) -> str:
    """What the command prints; it must succeed."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(folder: Path) -> Iterator[Path]:
    """All files below a folder, links to the folder ``templates`` followed."""
    for parent, _, names in os.walk(folder, followlinks=True):
        if "__pycache__" not in parent:
            yield from (Path(parent, name) for name in names)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, because building leaves folders behind, and takes in what an older one left."""
    source = tmp_path_factory.mktemp("source")
    for folder in (*PACKAGES, "templates"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, source / folder, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    return source


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    run([*PIP, "wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", "built", "."], source)
    return next((source / "built").glob("*.whl"))


@pytest.fixture(scope="module")
def sdist(source: Path) -> Path:
    build = "from setuptools import build_meta; print(build_meta.build_sdist('built'))"
    return source / "built" / run([sys.executable, "-c", build], source).split()[-1]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel alone. What it depends on is where this test found it."""
    target = tmp_path_factory.mktemp("installed")
    run([*PIP, "install", *OFFLINE, "--target", str(target), str(wheel)], target)
    return target


def test_it_holds_every_file_of_the_packages(wheel: Path) -> None:
    ours = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in files(ROOT / package)}
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    # The folder of all templates is linked into projects whole; those of memorybank are shipped with memorybank alone.
    assert names == {name for name in ours if not name.startswith("projects/templates/memorybank/")}


@only_in_ci
def test_the_client_is_a_wheel_of_its_own_with_its_types(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(
        ROOT / "clients/python", source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    )
    run([*PIP, "wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", "built", "."], source)
    [built] = (source / "built").glob("*.whl")
    run([*PIP, "install", *OFFLINE, "--target", str(target), str(built)], target.parent)
    package = source / "src/memory_bank_client"
    installed = {path.relative_to(target).as_posix() for path in files(target) if ".dist-info/" not in str(path)}
    assert installed == {path.relative_to(package.parent).as_posix() for path in files(package)}
    used = "import memory_bank_client as m; m.MemoryBank('http://x', 'mb_x').close(); print(m.__file__)"
    assert Path(run([sys.executable, "-c", used], tmp_path, PYTHONPATH=str(target)).strip()).is_relative_to(target)
    assert metadata.Distribution.at(next(target.glob("*.dist-info"))).metadata["Name"] == "memory-bank-client"


@only_in_ci
@pytest.mark.parametrize("kind", ["wheel", "sdist", "editable"])
def test_another_site_finds_every_template(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if kind == "wheel":
        site: Path = request.getfixturevalue("installed")
    else:
        built, site = request.getfixturevalue("source" if kind == "editable" else kind), tmp_path / "site"
        install = [*PIP, "install", *OFFLINE, "--no-build-isolation", "--target", str(site)]
        run([*install, *(["--editable"] if kind == "editable" else []), str(built)], tmp_path)
    names = sorted(path.relative_to(ROOT / "templates").as_posix() for path in files(ROOT / "templates"))
    (tmp_path / "other_site.py").write_text(OTHER_SITE, encoding="utf-8")
    # An editable install is a .pth file, which only a folder for packages has read.
    reads_pth = f"import site, sys; site.addsitedir({str(site)!r}); sys.path.insert(0, sys.path.pop()); "
    program = reads_pth + "exec(compile(open('other_site.py').read(), 'other_site.py', 'exec'))"
    where = run([sys.executable, "-c", program, " ".join(names)], tmp_path, PYTHONPATH="")
    assert Path(where.strip()).is_relative_to(built if kind == "editable" else site), "not this checkout's"


def distributions(requirements: Iterable[str]) -> Iterator[str]:
    """Names of all that must be installed for these requirements, without their extras."""
    for requirement in map(Requirement, requirements):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)
            yield from distributions(metadata.requires(requirement.name) or [])


@pytest.fixture(scope="module")
def not_installed() -> set[str]:
    """Modules of this environment that come with an extra of the package, or with the tools for tests."""
    core = set(distributions(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]))
    assert len(core) <= 25
    owners = metadata.packages_distributions()
    return {name for name, providers in owners.items() if not core & {canonicalize_name(owner) for owner in providers}}


def test_the_page_on_embedding_works_as_it_stands_and_without_extras(
    installed: Path, not_installed: set[str], tmp_path: Path
) -> None:
    modules = not_installed - {*PACKAGES, "pip", "setuptools"}
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_EXTRAS.format(modules=modules), encoding="utf-8")
    for name, text in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text, encoding="utf-8")
    commands, printed = re.search(r"```sh\n(.*?)```.*?~~~text\n(.*?)~~~", PAGE, re.S).groups()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "PYTHONPATH": os.pathsep.join([str(installed), str(tmp_path)])}
    tried = "try: import openai\nexcept ModuleNotFoundError: print('not there')"
    assert run(["python", "-c", tried], tmp_path, **environment) == "not there\n"
    where = run(["python", "-c", "import memorybank; print(memorybank.__file__)"], tmp_path, **environment)
    assert Path(where).is_relative_to(installed), "it is ours from the wheel, not from this checkout"
    assert run(["sh", "-ec", commands], tmp_path, **environment).endswith(printed)

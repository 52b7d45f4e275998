"""The Dockerfile's steps, one by one and without a container engine: install, collect, compile, serve, be healthy."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.support.commands import OURS, PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.gateway_site import free_port
from tests.support.requirements import only_in_ci

from .test_deployment_files import sent_to_the_builder

#: The Dockerfile's lines, with continued ones joined.
LINES = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
#: The step that only root can do: it creates the user and the folders, which the test creates itself.
AS_ROOT = "useradd"

pytestmark = [only_in_ci, pytest.mark.own_servers]


def arguments(instruction: str) -> list[str]:
    """What the Dockerfile gives to each of these instructions."""
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{instruction} ")]


def command_of(text: str) -> list[str]:
    """The JSON list at the end of CMD or HEALTHCHECK."""
    words: list[str] = json.loads(text[text.index("[") :])
    return words


class Image:
    """The image's folders below a temporary one, and its environment."""

    def __init__(self, root: Path) -> None:
        self.root, self.app = root, root / "app"
        for name in ("data", "cache"):
            (root / name).mkdir()
        clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        [environment] = arguments("ENV")
        ours = dict(re.findall(r"(\w+)=(\S+)", environment.replace("$PATH", os.environ["PATH"])))
        self.env = {**clean, **{name: self.inside(value) for name, value in ours.items()}}

    def inside(self, text: str) -> str:
        """The text with the image's folders at their places in the temporary one."""
        return re.sub(r"(?<![\w/.])/(venv|data|cache|app)\b", rf"{self.root}/\1", text)

    def run(self, command: str, **env: str) -> None:
        done = subprocess.run(
            ["sh", "-ec", self.inside(command)],
            cwd=self.app,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    made = Image(tmp_path_factory.mktemp("image"))
    sent_to_the_builder(made.app)
    (made.root / "bin").mkdir()  # “python” of the base image
    (made.root / "bin/python").symlink_to(sys.executable)
    made.env["PATH"] = made.env["PATH"].replace(":", f":{made.root}/bin:", 1)
    for command in arguments("RUN"):
        if not command.startswith(AS_ROOT):
            made.run(command)
    return made


@pytest.fixture
def port(image: Image) -> Iterator[str]:
    """Of a container that runs the image's command, after the migration."""
    number, [command] = str(free_port()), arguments("CMD")
    image.env |= {"SECRET_KEY": "k" * 50, "ALLOWED_HOSTS": "localhost"}
    image.run("python manage.py migrate --verbosity 0")
    words = [word.replace("0.0.0.0", "127.0.0.1").replace("8000", number) for word in command_of(command)]
    program = image.inside(f"/venv/bin/{words[0]}")
    with subprocess.Popen([program, *words[1:]], cwd=image.app, env=image.env) as process:
        yield number
        process.terminate()


def read(port: str, path: str) -> str:
    request = Request(f"http://127.0.0.1:{port}{path}", headers={"Host": "localhost", "X-Forwarded-Proto": "https"})
    with urlopen(request, timeout=PROCESS_TIMEOUT_SECONDS) as answer:
        return str(answer.read().decode())


def test_what_the_steps_built_serves_and_is_healthy(image: Image, port: str) -> None:
    [check] = arguments("HEALTHCHECK")
    command = [image.inside("/venv/bin/python"), *command_of(check)[1:], port]
    deadline = time.monotonic() + PROCESS_TIMEOUT_SECONDS
    while subprocess.run(command, cwd=image.app, env=image.env, capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, "never healthy"
        time.sleep(0.2)
    page = read(port, "/login/")
    [*sheets] = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
    assert sheets and all(read(port, sheet) for sheet in sheets)  # collected, under the names that pages have
    modules = "import memorybank, projects, sys; print(memorybank.__file__, sys.prefix)"
    program = [command[0], "-c", modules]
    where = subprocess.run(program, cwd=image.app, env=image.env, capture_output=True, text=True, check=True)
    assert where.stdout.split() == [str(image.app / "memorybank/__init__.py"), str(image.root / "venv")]

"""Install the clients of clients.toml into a directory: python -m tests.clients.install DIRECTORY.

Each has an environment of its own, because their dependencies contradict each other. What cannot be installed is said
and left out; its test says so, too.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

LISTED = tomllib.loads((Path(__file__).parent / "clients.toml").read_text("utf-8"))
CLIENTS: list[dict[str, Any]] = LISTED["clients"]
EXAMPLES: list[dict[str, Any]] = LISTED["examples"]
NPM = "npm:"


def folder(root: Path, client: dict[str, Any]) -> Path:
    """Where a client is."""
    return root / re.sub(r"\W+", "-", client["name"]).lower()


def install(client: dict[str, Any], place: Path) -> None:
    """Raises CalledProcessError or OSError."""
    place.mkdir(parents=True, exist_ok=True)
    of_npm = [name.removeprefix(NPM) for name in client["packages"] if name.startswith(NPM)]
    if of_npm:
        npm = shutil.which("npm") or "npm"
        options = ["--prefix", str(place), "--no-fund", "--no-audit", "--loglevel", "error"]
        subprocess.run([npm, "install", *options, *of_npm], check=True)
        for script in place.glob("node_modules/@anthropic-ai/*/install.cjs"):  # npm runs no scripts unasked
            subprocess.run(["node", script.name], check=True, cwd=script.parent)
        return
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *client["packages"]], check=True)


def main(root: Path) -> None:
    for client in (*CLIENTS, *EXAMPLES):
        place = folder(root, client)
        if (place / "ready").exists():
            continue
        try:
            install(client, place)
            (place / "ready").touch()
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"!! {client['name']} could not be installed: {error}", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

"""`serve` from any directory, with DEBUG off: style sheets are there, compressed, and each request has a line."""

import re
from pathlib import Path

import httpx2
import pytest

from tests.projects.chat.test_lost_answers import free_port
from tests.support.commands import ROOT
from tests.support.own_site import site, wait_until

pytestmark = pytest.mark.own_servers


def test_a_site_served_from_elsewhere_is_whole(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    env = {"DEBUG": "false", "SECRET_KEY": "k" * 50, "STATIC_ROOT": str(tmp_path / "static")}
    with site(tmp_path, **env) as made, httpx2.Client(base_url=f"http://{address}") as client:

        def is_up() -> bool:
            try:
                return client.get("/healthz").status_code == 200
            except httpx2.HTTPError:
                return False

        made.start(ROOT / "manage.py", "serve", "--address", address, cwd=tmp_path)
        wait_until(is_up, "serving", made)
        page = client.get("/login/", headers={"X-Request-ID": "trace-7"})
        sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page.text)
        assert sheets
        for answer in (page, *map(client.get, sheets)):
            assert (answer.status_code, answer.headers.get("content-encoding")) == (200, "gzip"), answer.url
        assert re.search(r"INFO requests \[trace-7\]: GET /login/: 200, \d+ ms", made.output())
        assert "celery@" not in made.output()


def test_where_static_files_can_neither_be_found_nor_written_it_says_so_and_ends(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with site(tmp_path, DEBUG="false", SECRET_KEY="k" * 50, STATIC_ROOT=str(tmp_path / "file" / "static")) as made:
        ran = made.manage("serve", "--address", "127.0.0.1:1")
    assert (ran.code, "static files cannot be collected" in ran.err, ran.err.count("\n")) == (1, True, 1), ran.err


def test_the_scripts_and_styles_of_all_pages_together_are_small() -> None:
    files = [file for kind in ("js", "css") for file in (ROOT / "projects/static").rglob(f"*.{kind}")]
    assert 0 < sum(file.stat().st_size for file in files) <= 60_000

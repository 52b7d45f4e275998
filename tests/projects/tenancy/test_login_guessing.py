"""Guessing a password with many requests at once, at a served site."""

import re
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from projects.tenancy.login_throttle import FREE_ATTEMPTS
from tests.support.gateway_site import Gateway
from tests.support.requirements import IS_CI

pytestmark = pytest.mark.own_servers


def test_many_wrong_logins_at_once_are_no_more_tries_than_in_a_row(served: Gateway) -> None:
    url = f"{served.address}/login/"
    with urllib.request.urlopen(url, timeout=120) as page:
        cookie = page.headers["Set-Cookie"].partition(";")[0]
        token = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page.read())
    assert token
    fields = {"csrfmiddlewaretoken": token[1].decode(), "username": "alice", "password": "guess"}

    def guess(_: int) -> str:
        request = urllib.request.Request(url, urllib.parse.urlencode(fields).encode(), {"Cookie": cookie})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return str(error.read().decode())

    count = 60 if IS_CI else 24
    with ThreadPoolExecutor(count) as threads:
        pages = list(threads.map(guess, range(count)))
    assert sum("Too many" not in page for page in pages) == FREE_ATTEMPTS["name"]

"""Requests of one key that arrive together look it up once."""

import asyncio

import pytest
from django.db import connections
from django.utils import timezone

from projects.gateway.database import accounts as gateway_accounts
from projects.gateway.database.accounts import Account, Accounts
from projects.gateway.database.threads import Threads
from projects.models import Project, Tenant
from projects.tenancy import api_keys, authentication

REQUEST_COUNT, MAX_SECONDS = 8, 60


@pytest.mark.django_db(transaction=True)
def test_requests_that_arrive_together_share_one_look_up_and_later_ones_see_a_revoked_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Threads("test", 1)  # whose connection this test can close
    monkeypatch.setattr(gateway_accounts, "readers", own)
    project = Project.objects.open(Tenant.objects.create(slug="acme", name="Acme"), "apollo", "Apollo")
    key, secret = api_keys.issue(project, "desk", ["write"], actor="alice", now=timezone.now())
    digest, accounts = authentication.digest_of(secret), Accounts()

    async def together() -> list[Account | BaseException]:
        asked = (accounts.find(digest, MAX_SECONDS) for _ in range(REQUEST_COUNT))
        return await asyncio.gather(*asked, return_exceptions=True)

    try:
        found = asyncio.run(together())
        assert {type(one) for one in found} == {Account}
        assert len(set(map(id, found))) == 1
        for account in found:
            assert isinstance(account, Account)
            account.found -= 2  # as if it were two seconds later
        key.delete()
        assert {type(one) for one in asyncio.run(together())} == {authentication.Unauthenticated}
    finally:
        asyncio.run(own.run(connections.close_all))

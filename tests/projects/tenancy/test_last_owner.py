"""Two owners who remove each other at once, over two connections: one stays. Needs a database with row locks."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from projects.models import Membership, Role, Tenant
from projects.tenancy import permissions
from tests.support.commands import PROCESS_TIMEOUT_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_of_two_owners_stays_who_are_removed_at_once() -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("This database writes one transaction at a time.")
    tenant = Tenant.objects.create(name="Acme", slug="acme")
    people = [User.objects.create(username=name) for name in ("alice", "olga")]
    owners = [Membership.objects.create(tenant=tenant, user=user, role=Role.OWNER) for user in people]
    asked, coming = threading.Event(), threading.Event()

    def first() -> list[Tenant]:
        try:
            with transaction.atomic():
                left = permissions.last_owners(people[0], [owners[1]])
                asked.set()
                assert coming.wait(PROCESS_TIMEOUT_SECONDS)
                owners[1].delete()
            return left
        finally:
            connection.close()

    def second() -> list[Tenant]:
        try:
            assert asked.wait(PROCESS_TIMEOUT_SECONDS)
            with transaction.atomic():
                coming.set()
                left = permissions.last_owners(people[1], [owners[0]])
                if not left:
                    owners[0].delete()
            return left
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(first), pool.submit(second)]
        assert [answer.result(PROCESS_TIMEOUT_SECONDS) for answer in answers] == [[], [tenant]]
    assert list(Membership.objects.filter(role=Role.OWNER).values_list("user__username", flat=True)) == ["alice"]

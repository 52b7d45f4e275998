"""Public ids: they hide how many rows there are, and stay what they are."""

import asyncio

import pytest
from django.core.management import call_command
from django.test import override_settings

from memorybank.models import PublicId, PublicIdKey, public_id
from memorybank.models.public_id import _secret


@pytest.mark.django_db
def test_another_secret_key_changes_no_public_id() -> None:
    before = [public_id(pk) for pk in range(1, 20)]
    with override_settings(SECRET_KEY="another"):
        assert [public_id(pk) for pk in range(1, 20)] == before
        assert [PublicId().to_python(name) for name in before] == list(range(1, 20))


@pytest.mark.django_db(transaction=True)
def test_the_key_is_read_in_an_event_loop_too_and_tables_that_are_emptied_have_one_again() -> None:
    async def within() -> str:
        return public_id(7)

    before = public_id(7)
    _secret.cache_clear()
    assert asyncio.run(within()) == before
    call_command("flush", verbosity=0, interactive=False)
    assert PublicIdKey.objects.count() == 1
    assert public_id(7) != before

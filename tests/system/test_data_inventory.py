"""Every table with a text column is in the inventory of people's words, or says why it holds none."""

import pytest
from django.apps import apps
from django.db import models

from memorybank import services
from memorybank.data_inventory import NO_WORDS, TABLES, Erasing, StoredTable
from memorybank.models import BlockLineVersion, Chat, Checkpoint, Fact, Output, SearchDocument, StoredBlock
from projects.models import Draft
from tests.support.factories import DAY, MONDAY, make_bank, run, say
from tests.support.word_search import places

TEXT = (models.CharField, models.TextField, models.JSONField, models.BinaryField)
OURS = [model for app in ("memorybank", "projects") for model in apps.get_app_config(app).get_models()]


def with_text() -> set[type[models.Model]]:
    """Our models with a column that may hold words; a choice is none."""
    return {model for model in OURS for field in model._meta.fields if isinstance(field, TEXT) and not field.choices}


def test_every_table_with_text_is_in_the_inventory_or_says_why_not() -> None:
    listed = [table.model for table in TABLES]
    assert len(set(listed)) == len(listed)
    assert not NO_WORDS.keys() & set(listed)
    assert with_text() - NO_WORDS.keys() - set(listed) == set()
    assert all(NO_WORDS.values())


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.model.__name__)
def test_an_entry_names_columns_that_exist(table: StoredTable) -> None:
    assert set(table.words) <= {field.name for field in table.model._meta.fields}
    assert table.drop is None or len(table.counts) <= 1  # what it drops is counted under one name
    assert bool(table.section) == bool(table.exported)


@pytest.mark.django_db
@pytest.mark.usefixtures("no_model")
def test_erasing_everything_leaves_no_row_that_the_inventory_says_goes() -> None:
    bank = make_bank(max_tokens=200)
    output = say(bank, "c1", "The night ferry to Lisbon sails from pier nine every Tuesday.", title="Ferry")
    run(MONDAY + DAY)
    made = {"text": "Ferry", "tokens_before": 2, "tokens_after": 1, "made_at": MONDAY}
    Checkpoint.objects.create(chat=output.chat, through=output.pk, **made)
    Draft.objects.create(output=output, text="The ferry", saved_at=MONDAY)
    going = [table for table in TABLES if table.erasing in (Erasing.DELETE, Erasing.REBUILD)]
    there = {table.model for table in going if table.rows(bank).exists()}
    assert {Output, Chat, Fact, SearchDocument, StoredBlock, BlockLineVersion, Checkpoint, Draft} <= there
    services.erase_everything(bank, actor="alice", now=MONDAY + 2 * DAY)
    assert {table.model for table in going if table.rows(bank).exists()} <= {StoredBlock}  # rendered again, empty
    assert places("ferry") == []

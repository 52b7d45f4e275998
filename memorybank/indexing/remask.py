"""Mask stored memory again: for a value that was recognised as a secret later, or once a bank masks personal data.

Facts and the block's history are rewritten, changed lines leave the stored block, and affected chats are indexed again.
"""

from collections.abc import Callable, Collection
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet

from memorybank import conf
from memorybank.indexing.invalidation import invalidate
from memorybank.language import tokens
from memorybank.models import Bank, BlockLineVersion, Chat, Fact, MaskedValue, SearchDocument
from memorybank.reading.mentions import chats_mentioning
from memorybank.safety.redaction import Masker

#: Values searched for in one query.
VALUES_PER_QUERY = 50
FACTS_PER_UPDATE = 50
MAX_CHATS = 10_000


def learn(bank: Bank, masker: Masker) -> None:
    """Store the values that ``masker`` has learnt, and mask them in stored memory. The caller holds the bank's lock."""
    new = MaskedValue.objects.learn(bank, masker.learnt) if masker.learnt else {}
    values = list(new)
    for start in range(0, len(values), VALUES_PER_QUERY):
        some = values[start : start + VALUES_PER_QUERY]
        in_text = reduce(or_, (Q(text__contains=value) for value in some))
        in_fact = reduce(or_, (Q(original__contains=value) for value in some), in_text)
        mask = Masker(learnt={value: new[value] for value in some}).mask_learnt
        _mask_facts(bank, Fact.objects.filter(in_fact, bank=bank), mask)
        _mask_lines(BlockLineVersion.objects.filter(in_text, bank=bank), mask)
        _index_again(bank, some)


def mask_all(bank: Bank) -> None:
    """Mask every fact of a bank with its current settings. The caller holds the bank's lock."""
    masker = MaskedValue.objects.masker(bank)
    _mask_facts(bank, Fact.objects.filter(bank=bank), masker.mask)
    _mask_lines(BlockLineVersion.objects.filter(bank=bank), masker.mask)
    learn(bank, masker)


def _mask_facts(bank: Bank, facts: QuerySet[Fact], rewrite: Callable[[str], str]) -> None:
    """Rewrite the facts; changed lines leave the stored block."""
    encoding, changed = conf.current().encoding, []
    for fact in facts.order_by().iterator():
        text, original = rewrite(fact.text), rewrite(fact.original)
        if (text, original) != (fact.text, fact.original):
            fact.text, fact.original, fact.tokens = text, original, tokens.count(text, encoding)
            changed.append(fact)
    if changed:
        Fact.objects.bulk_update(changed, ["text", "original", "tokens"], batch_size=FACTS_PER_UPDATE)
        invalidate(bank, facts=[fact.pk for fact in changed], now=None)


def _mask_lines(lines: QuerySet[BlockLineVersion], rewrite: Callable[[str], str]) -> None:
    """Rewrite the history of the block's lines."""
    changed = []
    for line in lines.order_by().iterator():
        if (text := rewrite(line.text)) != line.text:
            line.text = text
            changed.append(line)
    BlockLineVersion.objects.bulk_update(changed, ["text"], batch_size=FACTS_PER_UPDATE)


def _index_again(bank: Bank, values: Collection[str]) -> None:
    """Delete the documents of the chats that contain one of the values; the next sweep indexes them again, masked."""
    chats = chats_mentioning(bank, values, limit=MAX_CHATS)
    SearchDocument.objects.filter(chat__in=chats).delete()
    Chat.objects.filter(pk__in=chats).remembered().update(indexed_through=0, index_due=True)

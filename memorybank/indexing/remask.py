"""What stands already, masked like what is new: facts at once, turns by indexing them again, blocks without the lines.

For a value that was told apart from a secret only later, and for a bank that begins to mask personal data.
"""

from collections.abc import Callable, Collection
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet

from memorybank import conf
from memorybank.language import tokens
from memorybank.models import Bank, BlockLineVersion, Chat, Fact, MaskedValue, SearchDocument, StoredBlock
from memorybank.reading.recall.searching import chats_mentioning
from memorybank.safety.redaction import Masker

#: Values looked for in one query, and turns that mention one.
AT_ONCE, MOST = 50, 10_000


def learn(bank: Bank, masker: Masker) -> None:
    """Keep what ``masker`` has learnt, and mask it in all that stands. The caller holds the bank."""
    new = MaskedValue.objects.learn(bank, masker.learnt) if masker.learnt else {}
    values = list(new)
    for start in range(0, len(values), AT_ONCE):
        some = values[start : start + AT_ONCE]
        said = reduce(or_, (Q(text__contains=value) for value in some))
        saying = reduce(or_, (Q(original__contains=value) for value in some), said)
        again = Masker(learnt={each: new[each] for each in some}).again
        _mask_facts(bank, Fact.objects.filter(saying, bank=bank), again)
        _mask_lines(BlockLineVersion.objects.filter(said, bank=bank), again)
        _index_again(bank, some)


def mask_all(bank: Bank) -> None:
    """Mask every fact of a bank as it is set now. The caller holds the bank."""
    masker = MaskedValue.objects.masker(bank)
    _mask_facts(bank, Fact.objects.filter(bank=bank), masker.mask)
    _mask_lines(BlockLineVersion.objects.filter(bank=bank), masker.mask)
    learn(bank, masker)


def _mask_facts(bank: Bank, facts: QuerySet[Fact], rewrite: Callable[[str], str]) -> None:
    """Rewrite the facts; the lines that said something else leave the stored block."""
    encoding, changed = conf.current().encoding, []
    for fact in facts.order_by().iterator():
        text, original = rewrite(fact.text), rewrite(fact.original)
        if (text, original) != (fact.text, fact.original):
            fact.text, fact.original, fact.tokens = text, original, tokens.count(text, encoding)
            changed.append(fact)
    if changed:
        Fact.objects.bulk_update(changed, ["text", "original", "tokens"], batch_size=AT_ONCE)
        StoredBlock.objects.invalidate(bank, facts=[fact.pk for fact in changed], now=None)


def _mask_lines(lines: QuerySet[BlockLineVersion], rewrite: Callable[[str], str]) -> None:
    """Rewrite what blocks have said, or say."""
    changed = []
    for line in lines.order_by().iterator():
        if (text := rewrite(line.text)) != line.text:
            line.text = text
            changed.append(line)
    BlockLineVersion.objects.bulk_update(changed, ["text"], batch_size=AT_ONCE)


def _index_again(bank: Bank, values: Collection[str]) -> None:
    """Forget what recall has of the chats that mention one of the values; the next sweep reads them again, masked."""
    chats = chats_mentioning(bank, values, most=MOST)
    SearchDocument.objects.filter(chat__in=chats).delete()
    Chat.objects.filter(pk__in=chats, private=False).update(indexed_through=0, index_due=True)

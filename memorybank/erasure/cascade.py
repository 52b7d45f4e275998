"""Memory without some turns: what rests on them goes, what others said stays, and what lost a line is made anew.

A model that wrote a line had read its neighbours, too. So of whatever was made with such a turn in sight, a line stays
only if every word of it stands in the turns that it cites and that are left.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from django.db.models import F

from memorybank.core import transcript
from memorybank.core.granularity import Granularity
from memorybank.data_inventory import TABLES, Touched
from memorybank.language import dates
from memorybank.language.terms import terms
from memorybank.models import (
    EXTRACTIVE,
    Bank,
    Chat,
    Entry,
    Fact,
    FactOutput,
    MaskedValue,
    OptOut,
    Output,
    SearchDocument,
    StoredBlock,
)
from memorybank.models.output import sequences_by_chat
from memorybank.safety.redaction import Masker

#: Facts deleted at once; databases bound the parameters of a query.
AT_ONCE = 10_000


@dataclass(slots=True)
class Shown:
    """The words of turns as memory shows them: masked, with their speakers and dates. Read ahead, it spares a lock."""

    bank: Bank
    masker: Masker
    _words: dict[tuple[int, int, int], frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, bank: Bank) -> Self:
        """Nothing read yet."""
        return cls(bank, MaskedValue.objects.masker(bank))

    def words(self, output: Output) -> frozenset[str]:
        """What a line that cites this turn may say."""
        key = (output.pk, len(output.question), len(output.answer))  # a turn of which a half was erased is another
        if key not in self._words:
            [turn] = transcript.read([output], tz=self.bank.tz, masker=self.masker)
            day = turn.at.date()
            said = [dates.format_date(day)]
            for each in turn.utterances:
                said += [each.speaker, dates.resolve(each.text, day), dates.resolve(each.text, day, replace=True)]
            self._words[key] = frozenset(word for text in said for word in terms(text))
        return self._words[key]


def touched_leaves(touched: Mapping[int, Mapping[int, int]]) -> list[Entry]:
    """The leaves that cover one of these outputs, which are given by chat as id and sequence."""
    leaves = Entry.objects.leaves().filter(chat__in=touched).order_by("chat", "first_output")
    return [leaf for leaf in leaves if any(_covers(leaf, place) for place in touched[leaf.chat_id or 0].values())]


def _covers(leaf: Entry, sequence: int) -> bool:
    return (leaf.first_output or 0) <= sequence <= (leaf.last_output or 0)


def read_ahead(shown: Shown, touched: Mapping[int, Mapping[int, int]]) -> None:
    """Read what is left beside these outputs, as :func:`unlearn` will."""
    for leaf in touched_leaves(touched):
        cited = set(FactOutput.objects.filter(fact__entry=leaf).values_list("output_id", flat=True))
        for output in Output.objects.filter(pk__in=cited.difference(touched[leaf.chat_id or 0])):
            shown.words(output)


def unlearn(bank: Bank, touched: Mapping[int, Mapping[int, int]], shown: Shown, counts: Counter[str]) -> set[int]:
    """Take outputs, given by chat as id and sequence, out of all that was made of them; the facts that went.

    The caller holds ``bank`` and has deleted the outputs, or a half of each, or said that they are not to be told.
    """
    chats = bank.chats.select_for_update().filter(pk__in=touched).order_by("pk")
    leaves = touched_leaves(touched)
    above = _ids(Entry.objects.filter(pk__in=[leaf.pk for leaf in leaves]).above())
    gone: set[int] = set()
    for leaf in leaves:
        gone |= _strip_leaf(bank, leaf, set(touched[leaf.chat_id or 0]), shown, counts)
    ordered = sorted(gone)
    for start in range(0, len(ordered), AT_ONCE):
        Fact.objects.filter(pk__in=ordered[start : start + AT_ONCE]).delete()
    for chat in chats:
        _settle(bank, chat, counts)
    return gone | strip_digests(above, counts)


def leave_out(bank: Bank, author: str, shown: Shown, counts: Counter[str], now: datetime) -> None:
    """Take all that was made of somebody's words out of memory, with whoever is at work on it; her turns stay.

    The caller holds ``bank`` and has said that they are not to be told.
    """
    hers = sequences_by_chat(Output.objects.filter(chat__bank=bank).of_person(author).only("chat", "sequence"))
    gone = unlearn(bank, hers, shown, counts)
    Bank.objects.filter(pk=bank.pk).update(epoch=F("epoch") + 1)
    StoredBlock.objects.invalidate(bank, facts=gone, now=now)
    drop(bank, hers, counts)


def drop(bank: Bank, touched: Touched, counts: Counter[str]) -> None:
    """Take what rests on these outputs out of every other table, once the newest block is withdrawn."""
    for table in TABLES:
        if table.drop:
            [name] = table.counts
            counts[name] += table.drop(bank, touched)


def unlearn_chat(bank: Bank, chat: Chat, counts: Counter[str]) -> set[int]:
    """Take all that was made of a chat out of memory; its turns wait as if none had ever been read. What went.

    The caller holds ``bank`` and ``chat``.
    """
    leaves = chat.entries.all()
    above, gone = _ids(leaves.above()), set(Fact.objects.filter(entry__in=leaves).values_list("pk", flat=True))
    counts["facts"] += len(gone)
    counts["summaries"] += leaves.count()
    leaves.delete()
    chat.summarised_through = 0
    _settle(bank, chat, counts)
    return gone | strip_digests(above, counts)


def _settle(bank: Bank, chat: Chat, counts: Counter[str]) -> None:
    """What recall has of a chat goes, and is made anew; what waits in it is counted again."""
    documents = SearchDocument.objects.filter(chat=chat)
    counts["documents"] += documents.count()
    documents.delete()
    chat.indexed_through = 0
    chat.index_due = bank.enabled and not chat.private and chat.summarised_through > 0
    chat.pending_outputs = chat.outputs.remembered().filter(sequence__gt=chat.summarised_through).count()
    chat.stale = chat.entries.filter(stale=True).exists()
    chat.due_at = chat.next_due(bank)
    chat.save()


def _strip_leaf(bank: Bank, leaf: Entry, touched: set[int], shown: Shown, counts: Counter[str]) -> set[int]:
    """Those of its facts that cannot stand on what is left, to be deleted; a leaf of which nothing is left goes."""
    left = list(leaf.covered())
    told = {output.pk: output for output in OptOut.objects.tellable(bank, left)}
    facts = list(leaf.facts.prefetch_related("output_links"))
    going = [fact for fact in facts if not _stands(fact, leaf, told, touched, shown)]
    counts["facts"] += len(going)
    if not left:
        counts["summaries"] += 1
        leaf.delete()
        return {fact.pk for fact in going}
    leaf.facts.exclude(original="").update(original="", original_speaker="")  # what a model wrote there, once
    leaf.stale = leaf.stale or any(not told.keys().isdisjoint(fact.citations) for fact in going)
    leaf.tokens -= sum(fact.tokens for fact in going)
    leaf.output_count, leaf.updates = len(left), leaf.updates + 1
    times = [output.created_at for output in left]
    leaf.first_at, leaf.last_at = min(times), max(times)
    if leaf.parent_id is None:  # else it stays where it was rolled up
        leaf.period_start = leaf.last_at.astimezone(bank.tz).date()
    leaf.save()
    return {fact.pk for fact in going}


def _stands(fact: Fact, leaf: Entry, told: Mapping[int, Output], touched: set[int], shown: Shown) -> bool:
    if not told.keys() >= set(fact.citations):
        return False
    cited = [told[output] for output in fact.citations]
    if not all(output.has_words for output in cited):  # so nobody can look; extraction quotes
        return (fact.detail or leaf.method.startswith(EXTRACTIVE)) and not fact.text.startswith("(")
    if fact.edited_by and touched.isdisjoint(fact.citations):  # a person's own words
        return True
    said = frozenset[str]().union(*map(shown.words, cited))
    return said.issuperset(terms(fact.text))


def strip_digests(ids: Collection[int], counts: Counter[str]) -> set[int]:
    """Take out of digests what rests on leaf facts that are gone, and what was written beside them; what went."""
    went: set[int] = set()
    digests = Entry.objects.filter(pk__in=ids)
    for digest in sorted(digests, key=lambda entry: Granularity(entry.granularity).tier):
        going = [line for line in digest.facts.prefetch_related("source_links", "sources") if not _rests(line)]
        counts["digest_lines"] += len(going)
        went.update(line.pk for line in going)
        if not digest.children.exists():
            counts["digests"] += 1
            digest.delete()
            continue
        Fact.objects.filter(pk__in=[line.pk for line in going]).delete()
        digest.facts.exclude(original="").update(original="", original_speaker="")
        lost = any(line.sources.all() for line in going)
        digest.stale, digest.updates = digest.stale or lost, digest.updates + 1
        digest.prune()
    return went


def mend_above(leaf: Entry) -> None:
    """What was rolled up from a leaf that was made anew is, too, at the next look at its bank."""
    above = Entry.objects.filter(pk__in=_ids(Entry.objects.filter(pk=leaf.pk).above()))
    strip_digests(_ids(above), Counter())
    above.update(stale=True)
    leaf.facts.update(tier=above.get(parent=None).tier)


def _rests(line: Fact) -> bool:
    """Whether a digest's line says what the leaf facts that it cites say, and no word more."""
    left = line.sources.all()
    if len(left) < len(line.source_links.all()):
        return False
    said = {word for fact in left for word in _words_of(fact)}
    return bool(line.edited_by) or said.issuperset(terms(line.text))


def _words_of(fact: Fact) -> Iterable[str]:
    return terms(f"{fact.text} {fact.speaker} {dates.format_date(fact.said_on)}")


def _ids(entries: Iterable[Entry]) -> set[int]:
    return {entry.pk for entry in entries}

"""Remove turns from memory: delete facts that rest on them, keep other people's, and mark summaries for rebuilding.

The model that wrote a fact had also read turns that the fact does not cite. So a fact of an affected leaf stays only if
the turns that it cites all remain and contain every word of it. The model that wrote a digest had read notes, so a line
of an affected digest stays only if the facts that it cites all remain and contain every word of it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import F

from memorybank.data_inventory import TABLES, OutputsByChat
from memorybank.erasure import past_lines, withdrawal
from memorybank.erasure.turn_words import TurnWords
from memorybank.indexing.fact_replacement import replaced_by, supersede_again
from memorybank.indexing.invalidation import invalidate
from memorybank.language.terms import terms
from memorybank.models import (
    EXTRACTIVE,
    Bank,
    Chat,
    Entry,
    Fact,
    FactOutput,
    KeptFact,
    OptOut,
    Output,
    SearchDocument,
)
from memorybank.models.chat import sequences_by_chat
from memorybank.reading.digest_lines import has_words_of

#: Facts deleted in one query, because databases limit the number of query parameters.
FACTS_PER_DELETION = 10_000


def _affected_leaves(outputs: OutputsByChat) -> list[Entry]:
    """The leaves that cover one of these outputs."""
    leaves = Entry.objects.leaves().filter(chat__in=outputs).order_by("chat", "first_output")
    return [leaf for leaf in leaves if any(_covers(leaf, sequence) for sequence in outputs[leaf.chat_id or 0].values())]


def _covers(leaf: Entry, sequence: int) -> bool:
    return (leaf.first_output or 0) <= sequence <= (leaf.last_output or 0)


def preload(words: TurnWords, outputs: OutputsByChat) -> None:
    """Read the turns that :func:`remove_outputs` will compare facts with. Call it before locking the bank."""
    for leaf in _affected_leaves(outputs):
        cited = set(FactOutput.objects.filter(fact__entry=leaf).values_list("output_id", flat=True))
        for output in Output.objects.filter(pk__in=cited.difference(outputs[leaf.chat_id or 0])):
            words.words(output)


def remove_outputs(
    bank: Bank, outputs: OutputsByChat, words: TurnWords, counts: Counter[str], *, withheld_for: str = ""
) -> set[int]:
    """Remove everything that was derived from these outputs; return the ids of the deleted facts.

    The caller holds the bank's lock, and has already deleted each output, erased half of it or excluded it from memory.
    With ``withheld_for``, the key of a chat, the block's history is withheld until this chat is shared again.
    """
    chats = bank.chats.select_for_update().filter(pk__in=outputs).order_by("pk")
    leaves = _affected_leaves(outputs)
    affected = Entry.objects.filter(pk__in=[leaf.pk for leaf in leaves])
    digests, replaced = affected.above(), replaced_by(Fact.objects.filter(entry__in=affected))
    past_lines.take_out_digests(affected.visible_to(), counts, withheld_for=withheld_for)
    deleted = {
        fact for leaf in leaves for fact in _prune_leaf(bank, leaf, set(outputs[leaf.chat_id or 0]), words, counts)
    }
    ordered = sorted(deleted)
    for start in range(0, len(ordered), FACTS_PER_DELETION):
        Fact.objects.filter(pk__in=ordered[start : start + FACTS_PER_DELETION]).delete()
    supersede_again(bank, replaced)
    for chat in chats:
        _reset_chat(bank, chat, counts)
    return deleted | _prune_digests(digests, counts)


def exclude_author(bank: Bank, author: str, words: TurnWords, counts: Counter[str], now: datetime) -> None:
    """Remove from memory everything that was derived from an author's words; their turns stay.

    The caller holds the bank's lock and has opted the author out.
    """
    outputs = sequences_by_chat(Output.objects.filter(chat__bank=bank).of_person(author).only("chat", "sequence"))
    exclude_outputs(bank, outputs, words, counts, now)


def exclude_outputs(bank: Bank, outputs: OutputsByChat, words: TurnWords, counts: Counter[str], now: datetime) -> None:
    """Remove from memory and checkpoints everything that was derived from these outputs; the outputs stay.

    The caller holds the bank's lock, and has already marked the outputs so that memory no longer uses them.
    """
    facts = remove_outputs(bank, outputs, words, counts)
    remove_from_blocks(bank, counts, facts=facts, outputs=outputs, now=now)


def remove_from_blocks(
    bank: Bank,
    counts: Counter[str],
    *,
    facts: Collection[int],
    outputs: OutputsByChat,
    chats: Collection[str] = (),
    now: datetime,
    withheld_for: str = "",
) -> None:
    """Remove facts and chats from the stored block, and everything that rests on ``outputs`` from the other tables.

    It increments the epoch, so running jobs discard their results. The caller holds the bank's lock.
    """
    Bank.objects.filter(pk=bank.pk).update(epoch=F("epoch") + 1)
    facts = past_lines.rewritten_facts(bank).union(facts)  # of these the block still has the old text
    invalidate(bank, chats=chats, facts=facts, now=now)
    read = [
        chat.key
        for chat in bank.chats.filter(pk__in=outputs)
        if any(sequence <= chat.summarised_through for sequence in outputs[chat.pk].values())
    ]
    past_lines.take_out(bank, counts, chats=[*chats, *read], facts=facts, withheld_for=withheld_for)
    for table in TABLES:
        if table.drop:
            dropped = table.drop(bank, outputs)
            for name in table.counts:
                counts[name] += dropped


def remove_chat(bank: Bank, chat: Chat, counts: Counter[str]) -> set[int]:
    """Delete all memory of a chat and make its turns pending again; return the ids of the deleted facts.

    The caller holds the locks of ``bank`` and ``chat``.
    """
    leaves = chat.entries.all()
    digests, deleted = leaves.above(), set(Fact.objects.filter(entry__in=leaves).values_list("pk", flat=True))
    replaced = replaced_by(Fact.objects.filter(entry__in=leaves))
    counts["facts"] += len(deleted)
    counts["summaries"] += leaves.count()
    past_lines.take_out_digests(leaves.visible_to(), counts)
    past_lines.take_out(bank, counts, chats=[chat.key])
    leaves.delete()
    supersede_again(bank, replaced)
    chat.summarised_through = 0
    _reset_chat(bank, chat, counts)
    return deleted | _prune_digests(digests, counts)


def remove_quotes(bank: Bank, chat: Chat, words: TurnWords, counts: Counter[str]) -> None:
    """Delete a chat's facts that have no support without its answers that quote private memory.

    Call it when a chat that had a single reader gets other readers: only chats with one reader use such answers. The
    caller holds the locks of ``bank`` and ``chat``.
    """
    leaves = chat.entries.all()
    digests = list(leaves.above())
    deleted = {fact for leaf in leaves for fact in _prune_leaf(bank, leaf, set(), words, counts)}
    gone = Fact.objects.filter(pk__in=deleted)
    replaced = replaced_by(gone)
    gone.delete()
    supersede_again(bank, replaced)
    _prune_digests(digests, counts)


def detach_chat(bank: Bank, chat: Chat, counts: Counter[str]) -> set[int]:
    """Take a chat that has just become private out of shared memory; return the ids of the affected facts.

    Its leaves stay, with people's decisions on their facts, but are taken out of their digests, whose lines about them
    are withdrawn. The turns are indexed again. The caller holds the locks of ``bank`` and ``chat``.
    """
    leaves = chat.entries.all()
    digests = set(leaves.above().values_list("pk", flat=True))
    facts = set(Fact.objects.filter(entry__in=leaves).values_list("pk", flat=True))
    leaves.exclude(parent=None).update(detached_from=F("parent"), parent=None)
    bank.facts.filter(pk__in=facts).update(tier=None)
    supersede_again(bank, replaced_by(bank.facts.filter(pk__in=facts)))
    _reset_chat(bank, chat, counts)
    withdrawn = _review_digests(bank, digests)
    counts["digest_lines"] += len(withdrawn)
    return facts | withdrawn


def attach_chat(bank: Bank, chat: Chat, counts: Counter[str]) -> None:
    """Put a chat that has just become public back into its digests, or let it roll up, and index its turns again.

    The caller holds the locks of ``bank`` and ``chat``.
    """
    leaves = chat.entries.all()
    digests = set(leaves.above().values_list("pk", flat=True))
    leaves.filter(detached_from__in=digests).update(parent=F("detached_from"))
    leaves.update(detached_from=None)
    for leaf in leaves.with_digests():
        *_below, live = leaf.upwards()
        leaf.facts.update(tier=live.tier)
    _reset_chat(bank, chat, counts)
    _review_digests(bank, digests)


def _review_digests(bank: Bank, digests: Collection[int]) -> set[int]:
    """Count what is left of these digests, and withdraw or show their lines; return the ids of those changed."""
    bank.entries.filter(pk__in=digests).prune()
    return withdrawal.review(bank.facts.filter(entry__in=digests))


def _reset_chat(bank: Bank, chat: Chat, counts: Counter[str]) -> None:
    """Delete a chat's search documents, so that it is indexed again, and recompute its pending turns and due time."""
    documents = SearchDocument.objects.filter(chat=chat)
    counts["documents"] += documents.count()
    documents.delete()
    chat.indexed_through = 0
    chat.index_due = bank.enabled and chat.is_remembered and chat.summarised_through > 0
    chat.pending_outputs = chat.outputs.remembered().filter(sequence__gt=chat.summarised_through).count()
    chat.stale = chat.entries.filter(stale=True).exists()
    chat.due_at = chat.next_due(bank)
    chat.save()


def _prune_leaf(bank: Bank, leaf: Entry, removed: set[int], words: TurnWords, counts: Counter[str]) -> set[int]:
    """Update a leaf, or delete it if no turns are left; return the ids of unsupported facts, yet to be deleted."""
    remaining = list(leaf.covered())
    usable = {output.pk: output for output in OptOut.objects.usable(bank, remaining)}
    facts = list(leaf.facts.prefetch_related("output_links"))
    cut = {output.pk: output for output in remaining if output.pk in removed}
    unsupported = [fact for fact in facts if not _is_supported(fact, leaf, usable, cut, words)]
    counts["facts"] += len(unsupported)
    if not remaining:
        counts["summaries"] += 1
        leaf.delete()
        return {fact.pk for fact in unsupported}
    _forget_originals(facts, usable, words)
    leaf.stale = leaf.stale or any(not usable.keys().isdisjoint(fact.citations) for fact in unsupported)
    leaf.tokens -= sum(fact.tokens for fact in unsupported)
    leaf.output_count, leaf.updates = len(remaining), leaf.updates + 1
    times = [output.created_at for output in remaining]
    leaf.first_at, leaf.last_at = min(times), max(times)
    if leaf.parent_id is None and leaf.detached_from is None:  # otherwise it stays in the period of its digest
        leaf.period_start = leaf.last_at.astimezone(bank.tz).date()
    leaf.save()
    return {fact.pk for fact in unsupported}


def _is_supported(
    fact: Fact, leaf: Entry, usable: Mapping[int, Output], cut: Mapping[int, Output], words: TurnWords
) -> bool:
    """Whether the cited turns all remain and contain every word of the fact; ``cut`` are those that lost a part."""
    if not usable.keys() >= set(fact.citations):
        return False
    cited = [usable[output] for output in fact.citations]
    if fact.edited_by and _is_in_own_words(fact, cited, cut, words):
        return True
    if not all(output.has_words for output in cited):  # expired text cannot be compared, but extracted facts quote it
        return (fact.detail or leaf.method.startswith(EXTRACTIVE)) and not fact.text.startswith("(")
    return words.of_turns(cited).issuperset(terms(fact.text))


def _is_in_own_words(fact: Fact, cited: Sequence[Output], cut: Mapping[int, Output], words: TurnWords) -> bool:
    """Whether a person's text can have no words from what was removed of the cited turns.

    What is only hidden, because it quotes private memory, can still be compared; what was erased cannot.
    """
    stored = [cut[output.pk] for output in cited if output.pk in cut]
    is_whole = all(turn.quotes_private and turn.question and (turn.answer or turn.messages) for turn in stored)
    hidden = words.of_turns(stored) - words.of_turns(cited) if stored else frozenset()
    return is_whole and hidden.isdisjoint(terms(fact.text))


def _forget_originals(facts: Iterable[Fact], usable: Mapping[int, Output], words: TurnWords) -> None:
    """Forget the original text of corrected facts, unless the cited turns contain every word of it.

    The model that wrote it had read the removed turns. Where it stays, it still keeps the corrected statement out.
    """
    forgotten = [
        fact.pk
        for fact in facts
        if fact.original
        and not words.of_turns(usable[output] for output in fact.citations if output in usable).issuperset(
            terms(f"{fact.original} {fact.original_speaker}")
        )
    ]
    Fact.objects.filter(pk__in=forgotten).update(original="", original_speaker="")


def _prune_digests(digests: Iterable[Entry], counts: Counter[str]) -> set[int]:
    """Delete digest lines that the remaining facts do not support, and empty digests; return the ids of the lines."""
    deleted: set[int] = set()
    ids = [digest.pk for digest in digests]
    for digest in Entry.objects.filter(pk__in=ids).finest_first():
        lines = digest.facts.prefetch_related("source_links", "sources")
        unsupported = [line for line in lines if not _is_line_supported(line)]
        if unsupported and digest.parent_id is None:
            _keep_untold(digest, remaining=set(lines) - set(unsupported), deleted=unsupported)
        counts["digest_lines"] += len(unsupported)
        deleted.update(line.pk for line in unsupported)
        if digest.is_of_nothing:
            counts["digests"] += 1
            digest.delete()
            continue
        Fact.objects.filter(pk__in=[line.pk for line in unsupported]).delete()
        digest.facts.exclude(original="").update(original="", original_speaker="")
        has_gap = any(line.sources.all() for line in unsupported)
        digest.stale, digest.updates = digest.stale or has_gap, digest.updates + 1
        digest.prune()
    withdrawal.review(Fact.objects.filter(entry__in=ids))
    return deleted


def _keep_untold(digest: Entry, *, remaining: Collection[Fact], deleted: Collection[Fact]) -> None:
    """Let a live digest keep, until it is rewritten, what deleted lines rest on and no remaining line tells."""
    untold = _sources(deleted) - _sources(remaining)
    kept = digest.bank.facts.shareable().filter(pk__in=untold).order_by("entry__first_at", "entry_id", "position")
    KeptFact.objects.add(digest.pk, list(kept.values_list("pk", flat=True)))


def _sources(lines: Collection[Fact]) -> set[int]:
    """The ids of the facts that lines of a digest rest on, as far as they remain."""
    return {source.pk for line in lines for source in line.sources.all()}


def mark_digests_stale(leaf: Entry) -> None:
    """Mark the digests above a rebuilt leaf stale, so that they are rebuilt, too."""
    digests = Entry.objects.filter(pk=leaf.pk).above()
    _prune_digests(digests, Counter())
    digests.update(stale=True)
    if leaf.parent_id:
        leaf.facts.update(tier=digests.get(parent=None).tier)


def _is_line_supported(line: Fact) -> bool:
    """Whether the cited facts all remain and contain every word of the line (unless a person edited it)."""
    if len(line.sources.all()) < len(line.source_links.all()):
        return False
    return bool(line.edited_by) or has_words_of(line, line.text)

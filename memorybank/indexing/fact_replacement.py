"""Link superseded facts to the newer fact that ends them, in whatever order chats are summarised.

The search index names the turns that mention a value, and only the facts of their chats are compared. So the work does
not grow with history; of a value that many turns mention, only the newest turns count. A chat may also be summarised
long after a chat that outdates it; then the newer facts exist already. If a newer fact goes, another may say the same.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import date
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet, prefetch_related_objects

from memorybank.core import state_changes, value_changes
from memorybank.core.extraction.kinds import is_question, is_request
from memorybank.core.state_changes import Statement
from memorybank.core.turns import ASSISTANT_SPEAKER
from memorybank.language import plain
from memorybank.language.sentences import sentences
from memorybank.language.terms import terms
from memorybank.models import Bank, Chat, ChatReader, Entry, Fact, FactOutput, FactQuerySet
from memorybank.prepared import PreparedQuery
from memorybank.reading.mentions import chats_mentioning
from memorybank.reading.recall.visibility import is_same_statement

#: Maximum of turns that mention one value, the newest.
MAX_TURNS_PER_VALUE = 100
#: Maximum of chats that are summarised but not indexed yet, the newest.
MAX_UNINDEXED_CHATS = 100
#: Maximum of facts of ongoing states that are compared with a stated end, the newest; and of later changes that are
#: compared with facts written down after them, the earliest.
MAX_COMPARED_FACTS = 500
#: Facts whose newer fact is gone that are compared with the same later changes, and how often with the next of these.
MAX_COMPARED_TOGETHER, MAX_COMPARISONS = 100, 4


def supersede(bank: Bank, facts: Sequence[Fact]) -> None:
    """Link the older facts that ``facts`` (all new, of one chat) replace, and those of ``facts`` that are outdated.

    Each is linked to the newer fact that replaces it. Facts that a person pinned or edited are never superseded; nor is
    a fact that has readers who may not read the newer one. An older fact is superseded as a whole, because half a
    sentence would mislead.
    """
    changing = [fact for fact in facts if fact.changing]
    _link_values(_facts_with_old_values(bank, changing), changing)
    if any(state_changes.states_end(fact.text) for fact in changing):
        _link_states(_ongoing_facts(bank, changing), changing)
    if facts:
        since = min(fact.said_on for fact in facts)
        _link_to_later(bank, facts, since, excluded=[fact.pk for fact in facts])


def replaced_by(newer: FactQuerySet) -> list[int]:
    """The ids of the leaf facts that these replace, for :func:`supersede_again` once these are gone."""
    replaced = Fact.objects.filter(superseded_by__in=newer.values("pk")).exclude(entry__chat=None)
    return list(replaced.values_list("pk", flat=True))


def supersede_again(bank: Bank, fact_ids: Collection[int]) -> None:
    """Link the facts of ``fact_ids`` whose newer fact is gone, or may not be shown, to the next that replaces them."""
    facts = _open_facts().filter(bank=bank, pk__in=fact_ids).exclude(entry__chat=None)
    readers: dict[int | None, list[Fact]] = {}
    for fact in facts.select_related("entry__chat").order_by("said_on", "pk"):
        fact.superseded_by = None  # until another is found, the row still says by what
        readers.setdefault(fact.entry.chat_id if fact.is_private else None, []).append(fact)
    for of_readers in readers.values():
        for start in range(0, len(of_readers), MAX_COMPARED_TOGETHER):
            compared: Sequence[Fact] = of_readers[start : start + MAX_COMPARED_TOGETHER]
            since, after = compared[0].said_on, 0
            for _ in range(MAX_COMPARISONS):
                later = _link_to_later(bank, compared, since, after)
                compared = _replaceable_facts(compared)
                if not compared or len(later) < MAX_COMPARED_FACTS:
                    break
                since, after = later[-1].said_on, later[-1].pk


def _link_to_later(
    bank: Bank, facts: Sequence[Fact], since: date, after: int = 0, *, excluded: Sequence[int] = ()
) -> Sequence[Fact]:
    """Link those of ``facts``, all with the same readers, that the next later changes replace; return these changes."""
    later = _later_changes(bank, _chat_of(facts), excluded, since, after)
    if later:
        _link_values(_replaceable_facts(facts), later)
        if ongoing := [fact for fact in _replaceable_facts(facts) if fact.ongoing]:
            _link_states(ongoing, later)
    return later


def _link_values(older: Sequence[Fact], newer: Sequence[Fact]) -> None:
    """Link older facts whose value a newer fact says is replaced."""
    replacements = {new: value_changes.replacements(new.text) for new in newer}

    def is_replaced(old: Fact, new: Fact) -> bool:
        decided, same_speaker = old.kind == Fact.Kind.DECISION, old.speaker == new.speaker
        return any(
            value_changes.is_replaced(old.text, new.text, change, decided=decided, same_speaker=same_speaker)
            for change in replacements[new]
        )

    _link(older, [new for new in newer if replacements[new]], is_replaced)


def _link_states(older: Sequence[Fact], newer: Sequence[Fact]) -> None:
    """Link older facts of ongoing states that a newer fact says have ended."""
    states = _statements(older)
    endings = {new: Statement(new.text, new.speaker) for new in newer if state_changes.states_end(new.text)}
    _link(older, list(endings), lambda old, new: state_changes.is_over(states[old.pk], endings[new]))


def _link(older: Sequence[Fact], newer: Sequence[Fact], is_over: Callable[[Fact, Fact], bool]) -> None:
    """Link each older fact to the first newer fact that ends it and is not quarantined."""
    for new in newer:
        ended = _said_before([old for old in older if old.said_on <= new.said_on and is_over(old, new)], new)
        by_assistant = [old for old in ended if old.speaker == ASSISTANT_SPEAKER]
        if new.speaker == ASSISTANT_SPEAKER and len(by_assistant) < len(ended) and not _is_confirmed(new):
            ended = by_assistant
        Fact.objects.filter(pk__in=[old.pk for old in ended]).update(superseded_by=new)
        if new.quarantine:  # the facts it replaces stay in use
            continue
        for old in ended:
            old.superseded_by = new
        older = [old for old in older if old not in ended]


def _is_confirmed(change: Fact) -> bool:
    """Whether the question of a turn states what holds from now on.

    A change that only the assistant tells ends nothing that a person said: it may have been asked for a draft.
    """
    questions = change.output_links.values_list("output__question", flat=True)
    said = (sentence for question in questions for sentence in sentences(plain(question)))
    stated = [s for s in said if value_changes.is_stated(s) and not (is_question(s) or is_request(s))]
    return value_changes.names_new_value(" ".join(stated), change.text)


def _replaceable_facts(facts: Sequence[Fact]) -> list[Fact]:
    """Those of facts that may be superseded and are not yet."""
    return [f for f in facts if not (f.quarantine or f.superseded_by_id or f.pinned or f.edited_by)]


def _said_before(facts: Sequence[Fact], new: Fact) -> list[Fact]:
    """The facts said before ``new``; within one turn, those written down before it."""
    prefetch_related_objects([fact for fact in facts if fact.said_on == new.said_on], "output_links")
    return [f for f in facts if f.said_on < new.said_on or (max(f.citations), f.pk) < (max(new.citations), new.pk)]


def _statements(facts: Sequence[Fact]) -> dict[int, Statement]:
    """Each fact as a statement; with the text of its turn if it names no subject itself."""
    bare = [fact for fact in facts if state_changes.is_bare(fact.text)]
    prefetch_related_objects(bare, "output_links__output")
    turns = {fact.pk: link.output for fact in bare for link in fact.output_links.all()[:1]}
    texts = {pk: f"{turn.question}\n{turn.answer}" for pk, turn in turns.items()}
    return {fact.pk: Statement(fact.text, fact.speaker, texts.get(fact.pk, "")) for fact in facts}


def _facts_with_old_values(bank: Bank, facts: Sequence[Fact]) -> list[Fact]:
    """Leaf facts that may be superseded and have a value which one of ``facts`` says is replaced."""
    values = {change.old for fact in facts for change in value_changes.replacements(fact.text)}
    if not values:
        return []
    leaves = Entry.objects.leaves().filter(
        chat__in=_chats_with_values(bank, values) | {fact.entry.chat_id for fact in facts}
    )
    stated = reduce(or_, (Q(text__icontains=value) for value in values))
    return list(_open_facts().filter(stated, _within(_chat_of(facts)), entry__in=leaves))


def _chats_with_values(bank: Bank, values: Collection[str]) -> set[int | None]:
    """Chats with turns that mention one of the values, and chats that are not indexed yet."""
    # The sum makes SQLite read the index of unindexed chats instead of every chat of the bank.
    unindexed = Chat.objects.alias(of_bank=F("bank_id") + 0).filter(of_bank=bank.pk, index_due=True)
    unindexed = unindexed.filter(summarised_through__gt=F("indexed_through")).order_by("-pk")
    return {
        *chats_mentioning(bank, values, limit=MAX_TURNS_PER_VALUE),
        *unindexed.values_list("pk", flat=True)[:MAX_UNINDEXED_CHATS],
    }


def _ongoing_facts(bank: Bank, facts: Sequence[Fact]) -> list[Fact]:
    """The newest leaf facts of ongoing states that may be superseded by one of ``facts``."""
    ongoing = _open_facts().filter(_within(_chat_of(facts)), bank=bank, ongoing=True)
    return list(ongoing.exclude(entry__chat=None).order_by("-pk")[:MAX_COMPARED_FACTS])


def _chat_of(facts: Sequence[Fact]) -> Chat:
    """The chat of new facts, which are all of one."""
    chat = facts[0].entry.chat
    assert chat is not None
    return chat


def _open_facts() -> FactQuerySet:
    """Visible facts that nobody pinned or edited."""
    return Fact.objects.visible().filter(pinned=False, edited_by="")


def _later_changes(bank: Bank, chat: Chat, excluded: Sequence[int], since: date, after: int = 0) -> list[Fact]:
    """Leaf facts other than the ``excluded`` that state a change, in order: the earliest since this day, after this id.

    All who may read the chat may read them.
    """
    excluded = excluded or [0]  # no row has it; by an empty list no row would be found
    if not chat.private:
        return _PUBLIC_CHANGES.rows(bank.pk, excluded, since, after)
    return list(_changes(bank.pk, excluded, since, after).filter(_around(chat))[:MAX_COMPARED_FACTS])


def _changes(bank: Any, excluded: Any, since: Any, after: Any) -> FactQuerySet:
    changes = Fact.objects.filter(bank=bank, changing=True, hidden=False, said_on__gte=since)
    changes = changes.exclude(said_on=since, pk__lte=after)
    return changes.exclude(entry__chat=None).exclude(pk__in=excluded).order_by("said_on", "pk")


_PUBLIC_CHANGES = PreparedQuery(
    lambda bank, excluded, since, after: _changes(bank, excluded, since, after).filter(entry__chat__private=False)[
        :MAX_COMPARED_FACTS
    ]
)


def _people(chat: Chat) -> list[str]:
    return [reader.person for reader in chat.readers.all()]


def _within(chat: Chat) -> Q:
    """A condition on facts of leaves: all their readers may read ``chat``."""
    if not chat.private:
        return Q()
    others = _readers_of_facts().exclude(person__in=_people(chat))
    return Q(~Exists(others), entry__chat__private=True)


def _around(chat: Chat) -> Q:
    """A condition on facts of leaves: all readers of the private ``chat`` may read them."""
    everybody = Q(entry__chat__private=False)
    named = [Q(Exists(_readers_of_facts().filter(person=person))) for person in _people(chat)]
    return everybody | Q(*named) if named else everybody


def _readers_of_facts() -> QuerySet[ChatReader]:
    return ChatReader.objects.filter(chat=OuterRef("entry__chat"))


def supersede_edited(bank: Bank, facts: Collection[Fact]) -> None:
    """Let what edited facts replace, and what replaces those whose edit was undone, follow from their new words."""
    edited = Fact.objects.filter(pk__in=[fact.pk for fact in facts])
    formerly_replaced = replaced_by(edited)
    Fact.objects.filter(superseded_by__in=edited.values("pk")).update(superseded_by=None)
    for fact in facts:
        _supersede_corrected(fact)
        if fact.entry.is_leaf:
            supersede(bank, [fact])
    supersede_again(bank, formerly_replaced)


def _supersede_corrected(fact: Fact) -> None:
    """Supersede what an edited fact corrects, by the words that it had and lost.

    Of a digest's line: its sources that state the original or have a word that the edit removed. Of a leaf's fact: the
    other facts of its turns that state the original with such a word, or ask it if it was a question and is none now.
    """
    citing = FactOutput.objects.filter(output__fact_links__fact=fact).values("fact")
    beside = Fact.objects.filter(entry=fact.entry_id, pk__in=citing).exclude(pk=fact.pk)
    others = beside if fact.entry.is_leaf else fact.sources.all()
    if not fact.original:
        return
    removed = frozenset(terms(fact.original)) - frozenset(terms(fact.text))
    open_ones = others.filter(pinned=False, edited_by="", superseded_by=None)
    texts = dict(open_ones.values_list("pk", "text"))
    outdated = {pk for pk, text in texts.items() if not removed.isdisjoint(terms(text))}
    if fact.entry.is_leaf and is_question(fact.original) and not is_question(fact.text):
        outdated.update(open_ones.filter(kind=Fact.Kind.QUESTION).values_list("pk", flat=True))
    combined = all if fact.entry.is_leaf else any
    corrected = [pk for pk, text in texts.items() if combined((is_same_statement(text, fact.original), pk in outdated))]
    Fact.objects.filter(pk__in=corrected).update(superseded_by=fact)

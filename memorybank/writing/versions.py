"""Set aside turns from which their chat no longer continues, and bring them back. Nothing is erased.

An edited message or another answer is a new version of a turn. It sets aside the previous version and the turns after
it, which may be shown again in its place.

The newest version lists the turns that it replaced (``Output.replaces``): first the version before it, then the turns
that followed that. When an older version is shown again, the oldest version lists the turns that this replaces. So the
versions of a turn are a chain, which becomes a ring. Memory uses the turns that are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from memorybank.clock import PRESENT, at_present
from memorybank.erasure import cascade
from memorybank.erasure.scope import quoting_titles
from memorybank.erasure.turn_words import TurnWords
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Chat, Checkpoint, Entry, Output
from memorybank.models.chat import sequences_by_chat

#: For each turn, the turns that it replaced, in the order of the chat.
Links = Mapping[int, list[int]]


@transaction.atomic
def set_aside(bank: Bank, outputs: Collection[int]) -> int:
    """Exclude these turns from the next summary of their chats; return how many were not set aside before."""
    Bank.objects.lock(bank.pk)
    turns = Output.objects.remembered().filter(chat__bank=bank, pk__in=outputs, set_aside=False)
    return turns.update(set_aside=True)


def link_versions(
    bank: Bank, *, chat_key: str, shown: Collection[str], replaced: Mapping[str, Sequence[str]], now: datetime
) -> int:
    """Show the turns of a chat with the keys ``shown``, set aside all others, and return how many are newly set aside.

    ``replaced`` maps the key of a turn to the key of its previous version, followed by the keys of the turns after that
    version.
    """
    words = TurnWords.of(bank)
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        chat = Chat.objects.select_for_update().get(bank=row, key=chat_key)
        rows = chat.outputs.only("key", "chat", "sequence", "set_aside", "replaces")
        turns = {turn.key: turn for turn in rows}
        for key, turn in turns.items():
            turn.replaces = [turns[older].pk for older in replaced.get(key, ()) if older in turns]
        Output.objects.bulk_update(turns.values(), ["replaces"])
        bring_back(row, [turns[key].pk for key in shown if key in turns and turns[key].set_aside])
        aside = [turn for key, turn in turns.items() if key not in shown and not turn.set_aside]
        if covered := {turn.pk for turn in aside if turn.sequence <= chat.summarised_through}:
            _exclude(row, covered, words, now)
        elif aside:  # a summary in progress may have read the chat with them
            Chat.objects.filter(pk=chat.pk).update(lease_token="", leased_until=None)
        set_aside(row, [turn.pk for turn in aside])
    return len(aside)


@transaction.atomic
def bring_back(bank: Bank, outputs: Collection[int]) -> int:
    """Let memory use these turns again, rebuild summaries that left them out, and return the number of turns."""
    Bank.objects.lock(bank.pk)
    turns = Output.objects.filter(chat__bank=bank, pk__in=outputs, set_aside=True)
    for output in turns:
        chat = Chat.objects.filter(pk=output.chat_id)
        # A summary in progress has read the chat without this turn: it must not move the watermark past it.
        chat.update(lease_token="", leased_until=None)
        covering = Entry.objects.leaves().filter(chat=output.chat_id, first_output__lte=output.sequence)
        if covering.filter(last_output__gte=output.sequence).update(stale=True):
            chat.update(stale=True, indexed_through=0)
            chat.remembered().filter(bank__enabled=True).update(index_due=True, due_at=F("last_output_at"))
    Checkpoint.objects.drop(_by_chat(outputs))  # those that cover the place of a turn but not its text
    return turns.update(set_aside=False)


def versions_of(chat: Chat, shown: Collection[Output]) -> dict[int, list[int]]:
    """For each turn of ``shown`` that has other versions, the ids of all versions, oldest first. At most one query."""
    heads = [turn for turn in shown if turn.replaces and turn.status == Output.Status.OK]
    links = _links(chat, heads) if heads else {}
    versions = {head.pk: sorted(_ring(head.pk, links)) for head in heads}
    return {pk: ring for pk, ring in versions.items() if len(ring) > 1}


@at_present
def show_version(bank: Bank, output_id: int, *, now: datetime = PRESENT) -> Output:
    """Show another version of a turn, with the turns that followed it, in place of the shown version.

    Raises :class:`InvalidInput` if the turn is not, or no longer, a version that is set aside.
    """
    words = TurnWords.of(bank)
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        chat = Chat.objects.select_for_update().filter(bank=row, outputs=output_id).first()
        ring, links = _ring_of(chat, output_id) if chat else ([], {})
        if chat is None or not ring:
            raise InvalidInput(_("This version is not there any more."))
        current = chat.outputs.get(pk=ring[0])
        since = chat.outputs.shown().filter(sequence__gte=current.sequence)
        followed = sorted(since.values_list("pk", flat=True))
        chat.outputs.filter(pk=ring[-1]).update(replaces=followed)
        _exclude(row, followed, words, now)
        before = ring[ring.index(output_id) - 1]
        bring_back(row, links[before])
        return chat.outputs.select_related("chat").get(pk=output_id)


def replace_turns(bank: Bank, new: Output, record_outcome: Callable[[], Output], *, now: datetime) -> Output:
    """Set the turns aside that ``new`` replaces, in the transaction in which ``record_outcome`` records its answer."""
    words = TurnWords.of(bank)
    cascade.preload(words, _by_chat(new.replaces))
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        is_first = Output.objects.unanswered().filter(pk=new.pk).exists()
        replaced = Output.objects.shown().filter(chat=new.chat_id, pk__in=new.replaces).exclude(pk=new.pk)
        ids = set(replaced.values_list("pk", flat=True)) if is_first else set()
        if ids:
            Chat.objects.filter(pk__in=quoting_titles(Output.objects.filter(pk__in=ids))).update(title="")
            _exclude(row, ids, words, now)
        return record_outcome()  # afterwards, because it names a chat whose title quoted them


def _exclude(bank: Bank, ids: Collection[int], words: TurnWords, now: datetime) -> None:
    Output.objects.filter(pk__in=ids).update(set_aside=True)
    cascade.exclude_outputs(bank, _by_chat(ids), words, Counter(), now)


def _by_chat(ids: Collection[int]) -> dict[int, dict[int, int]]:
    return sequences_by_chat(Output.objects.filter(pk__in=ids).only("chat", "sequence"))


def _ring_of(chat: Chat, output_id: int) -> tuple[list[int], Links]:
    """All versions of a turn that is set aside, the shown one first, and the links; [] if it is shown or gone."""
    heads = list(chat.outputs.shown().remembered().exclude(replaces=[]))
    links = _links(chat, heads)
    rings = (_ring(head.pk, links) for head in heads)
    return next((ring for ring in rings if output_id in ring[1:]), []), links


def _links(chat: Chat, heads: Collection[Output]) -> Links:
    """The links between ``heads`` and all turns that are set aside in their chat."""
    aside = list(chat.outputs.filter(set_aside=True).only("replaces", "sequence"))
    place = {turn.pk: turn.sequence for turn in (*aside, *heads)}
    known = {turn.pk: [pk for pk in turn.replaces if pk in place] for turn in (*aside, *heads)}
    return {pk: sorted(replaced, key=place.__getitem__) for pk, replaced in known.items()}


def _ring(head: int, links: Links) -> list[int]:
    """The versions of a turn, from the shown one (``head``) back until the links end or the ring closes."""
    ring = [head]
    while (replaced := links.get(ring[-1])) and replaced[0] not in ring:
        ring.append(replaced[0])
    return ring

"""Write search documents: mask and index a chat's turns once memory covers them.

Pending turns are not indexed: until the summary is written, their author can make the chat private. Like summarising,
indexing keeps a watermark per chat, reads outside the transaction, and checks epoch, privacy and watermark in one short
write. So an outage loses no turn, and indexing cannot undo an erasure.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction
from django.db.models import Q, QuerySet

from memorybank import bank_scope, conf
from memorybank.core import transcript
from memorybank.core.turns import Turn
from memorybank.exceptions import log_message
from memorybank.indexing import remask
from memorybank.models import Bank, Chat, MaskedValue, OptOut, Output, SearchDocument
from memorybank.models.chat import ChatQuerySet
from memorybank.prepared import PreparedQuery, PreparedUpdate
from memorybank.reading.recall.documents import Document, EarlierTurns, documents
from memorybank.reading.recall.index_terms import audience_words, index_text
from memorybank.safety.redaction import Masker

logger = logging.getLogger(__name__)

#: Turns indexed in one write, and earlier turns whose speakers are known by name in them.
TURNS_PER_WRITE, CONTEXT_TURNS = 200, 20
CHATS_PER_SWEEP = 200
#: The bank fields that documents depend on; the epoch shows that something was erased meanwhile.
BANK_FIELDS = ("epoch", "timezone", "redact_personal")

_CHAT = PreparedQuery(lambda pk: Chat.objects.filter(pk=pk))
_BEFORE = PreparedQuery(
    lambda chat, sequence: (
        Output.objects.filter(chat=chat, sequence__lt=sequence).remembered().order_by("-sequence")[:CONTEXT_TURNS]
    )
)
_SEQUENCES = PreparedQuery(lambda outputs: Output.objects.filter(pk__in=outputs).values_list("pk", "sequence"))
_INDEXED = PreparedUpdate(
    lambda pk, before, through: (
        Chat.objects.filter(pk=pk, indexed_through=before).remembered(),
        {"indexed_through": through, "index_due": Q(summarised_through__gt=through)},
    )
)


def waiting() -> ChatQuerySet:
    """Chats with covered turns to index."""
    return Chat.objects.filter(index_due=True, bank__enabled=True).remembered()


def due(bank: Bank | None = None) -> list[int]:
    """Ids of chats with covered turns to index, at most ``CHATS_PER_SWEEP``."""
    chats = waiting().filter(bank=bank) if bank else waiting()
    return list(chats.order_by("last_output_at", "pk").values_list("pk", flat=True)[:CHATS_PER_SWEEP])


def reindex(bank: Bank) -> int:
    """Index all waiting turns of a bank now; return how many."""
    done = 0
    while batch := sum(index_chat(chat_id) for chat_id in due(bank)):
        done += batch
    return done


def prepare(chat: Chat, turns: Sequence[Turn], earlier: EarlierTurns) -> list[Document] | None:
    """The documents of a chat's pending turns, for :func:`write` in the transaction that commits their summary.

    None if there are more than ``TURNS_PER_WRITE``, if turns before them are not indexed yet, or after an error; then
    :func:`index_summarised` has to index them. Reads no table; never raises.
    """
    if chat.indexed_through != chat.summarised_through or len(turns) > TURNS_PER_WRITE:
        return None
    try:
        return documents(turns, earlier, encoding=conf.current().encoding)
    except Exception as error:
        logger.error("chat %s: indexing: %s", chat.pk, log_message(error))
        return None


def index_summarised(chat_id: int) -> None:
    """Index the turns that a summary has just covered. Never raises: after an error the next sweep tries again."""
    try:
        while index_chat(chat_id) == TURNS_PER_WRITE:
            pass
    except Exception as error:
        logger.error("chat %s: indexing: %s", chat_id, log_message(error))


def index_chat(chat_id: int) -> int:
    """Index a batch of a chat's covered turns; return its size, or 0 if the bank or chat changed meanwhile."""
    chat = Chat.objects.select_related("bank").filter(pk=chat_id, bank__enabled=True).remembered().first()
    if chat is None:
        return 0
    with bank_scope.banks_entered(chat.bank_id):
        return _index(chat)


def _index(chat: Chat) -> int:
    covered = list(_covered(chat, chat.indexed_through).order_by("sequence")[:TURNS_PER_WRITE])
    masker = MaskedValue.objects.masker(chat.bank)
    made = _read(chat, [output for output in covered if output.status == Output.Status.OK], masker)
    through = (
        covered[-1].sequence if len(covered) == TURNS_PER_WRITE else max(chat.indexed_through, chat.summarised_through)
    )
    return len(covered) if _write(chat, made, through, masker) else 0


def _covered(chat: Chat, after: int) -> QuerySet[Output]:
    """The turns of a chat after the sequence ``after``, up to the watermark."""
    return chat.outputs.filter(sequence__gt=after, sequence__lte=chat.summarised_through)


def _read(chat: Chat, outputs: list[Output], masker: Masker) -> list[Document]:
    """The documents of these outputs."""
    if not outputs:
        return []
    turns = transcript.read(OptOut.objects.usable(chat.bank, outputs), tz=chat.bank.tz, masker=masker)
    return documents(turns, earlier_turns(chat, outputs), encoding=conf.current().encoding)


def earlier_turns(chat: Chat, outputs: Sequence[Output]) -> EarlierTurns:
    """What indexing these outputs takes from the ``CONTEXT_TURNS`` before them. Their text is not masked again."""
    if not (chat.summarised_through and outputs):
        return EarlierTurns()
    usable = OptOut.objects.usable(chat.bank, _BEFORE.rows(chat.pk, outputs[0].sequence))
    return EarlierTurns(usable[0].pk, transcript.speakers(usable)) if usable else EarlierTurns()


def _write(chat: Chat, made: list[Document], through: int, masker: Masker) -> bool:
    """Write in one short transaction; return False without writing if the bank or chat changed meanwhile."""
    with transaction.atomic():
        bank = Bank.objects.select_for_update().filter(pk=chat.bank_id).first()
        if bank is None or MaskedValue.objects.masker(bank).known != masker.known:
            return False
        written = write(chat, bank, made, through)
        if written:
            remask.learn(bank, masker)
    return written


def write(chat: Chat, bank: Bank, made: list[Document], through: int) -> bool:
    """Store documents of a chat and set its index watermark. The caller holds the bank's lock.

    Returns False without writing if the bank or chat has changed since ``chat`` was read.
    """
    if any(getattr(bank, name) != getattr(chat.bank, name) for name in BANK_FIELDS) or not bank.enabled:
        return False
    if not _INDEXED.execute(chat.pk, chat.indexed_through, through):
        return False
    # Read again: it may have changed since ``chat`` was read.
    [row] = _CHAT.rows(chat.pk)
    readers = list(row.readers.values_list("person", flat=True)) if row.private else None
    audience = audience_words(chat.bank_id, readers)
    sequences = dict(_SEQUENCES.rows([document.id for document in made]))
    # A turn that is indexed again keeps its vector.
    SearchDocument.objects.bulk_create(
        _rows(chat, made, sequences, audience),
        update_conflicts=True,
        unique_fields=["output"],
        update_fields=["words", "length", "lines"],
    )
    Bank.objects.touch_index(bank.pk)
    return True


def _rows(
    chat: Chat, made: Iterable[Document], sequences: Mapping[int, int], audience: list[str]
) -> list[SearchDocument]:
    """The rows of the documents whose turns still exist; ``sequences`` has these turns by id."""
    return [
        SearchDocument(
            output_id=document.id,
            bank_id=chat.bank_id,
            chat_id=chat.pk,
            sequence=sequences[document.id],
            words=index_text(chat.bank_id, chat.pk, document.content, (*document.dates, *document.speakers), audience),
            length=len(document.content),
            lines=[[line.speaker, line.text, line.worth, line.reported] for line in document.lines],
            said_at=document.said_at,
            previous=document.previous,
        )
        for document in made
        if document.id in sequences
    ]

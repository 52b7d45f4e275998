"""Writing documents: a chat's turns, read, masked and indexed, once memory covers them.

A turn that still waits for its summary is in no index: until then its author can make the chat private.
Works like summarising, without a model: a watermark per chat, reading outside the transaction, one short
write that checks epoch, privacy and watermark. So no outage can lose a turn, and no erasure is undone.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction
from django.db.models import Q, QuerySet

from memorybank import conf
from memorybank.core import transcript
from memorybank.core.turns import Turn
from memorybank.exceptions import log_message
from memorybank.indexing import remask
from memorybank.models import Bank, Chat, MaskedValue, OptOut, Output, SearchDocument
from memorybank.reading.recall.documents import Document, documents
from memorybank.reading.recall.index_terms import index_text
from memorybank.safety.redaction import Masker

logger = logging.getLogger(__name__)

#: Turns indexed in one write, and earlier ones read with them to tell who speaks.
BATCH, CONTEXT = 200, 20
#: Chats indexed in one go.
CHATS = 200
#: What of a bank goes into a document, or says that something was erased meanwhile.
RESTS_ON = ("epoch", "timezone", "redact_personal")


def due(bank: Bank | None = None) -> list[int]:
    """Ids of chats with covered turns to index, as many as one sweep takes on."""
    chats = Chat.objects.filter(index_due=True, private=False, bank__enabled=True)
    chats = chats.filter(bank=bank) if bank else chats
    return list(chats.order_by("last_output_at", "pk").values_list("pk", flat=True)[:CHATS])


def reindex(bank: Bank) -> int:
    """Index now what waits in a bank, rather than at the next sweep; how many turns that were."""
    done = 0
    while batch := sum(index_chat(chat_id) for chat_id in due(bank)):
        done += batch
    return done


def prepare(chat: Chat, turns: Sequence[Turn]) -> list[Document] | None:
    """The documents of ``turns``, with which a chat begins, for :func:`write` in the commit of their summary.

    None if they are too many for one write, or have turns before them, or cannot be read: then they are for
    :func:`follow`. Never raises.
    """
    if chat.summarised_through or len(turns) > BATCH:
        return None
    try:
        return documents(turns, of={turn.id for turn in turns}, encoding=conf.current().encoding)
    except Exception as error:
        logger.error("chat %s: indexing: %s", chat.pk, log_message(error))
        return None


def follow(chat_id: int) -> None:
    """Index what a summary has just covered. Never raises: the chat stays due, and the sweep repairs it."""
    try:
        while index_chat(chat_id) == BATCH:
            pass
    except Exception as error:
        logger.error("chat %s: indexing: %s", chat_id, log_message(error))


def index_chat(chat_id: int) -> int:
    """Index a batch of a chat's covered turns. How many were looked at; 0 also if the world moved meanwhile."""
    chat = Chat.objects.select_related("bank").filter(pk=chat_id, private=False, bank__enabled=True).first()
    if chat is None:
        return 0
    covered = list(_covered(chat, chat.indexed_through).order_by("sequence")[:BATCH])
    masker = MaskedValue.objects.masker(chat.bank)
    made = _read(chat, [output for output in covered if output.status == Output.Status.OK], masker)
    through = covered[-1].sequence if len(covered) == BATCH else max(chat.indexed_through, chat.summarised_through)
    return len(covered) if _write(chat, made, through, masker) else 0


def _covered(chat: Chat, after: int) -> QuerySet[Output]:
    """Turns after ``after`` up to the watermark of ``chat``."""
    return chat.outputs.filter(sequence__gt=after, sequence__lte=chat.summarised_through)


def _read(chat: Chat, outputs: list[Output], masker: Masker) -> list[Document]:
    """The documents of ``outputs``, read with the turns before them."""
    if not outputs:
        return []
    earlier = chat.outputs.remembered().filter(sequence__lt=outputs[0].sequence).order_by("-sequence")[:CONTEXT]
    told = OptOut.objects.tellable(chat.bank, [*reversed(earlier), *outputs])
    read = transcript.read(told, tz=chat.bank.tz, masker=masker)
    return documents(read, of={output.pk for output in outputs}, encoding=conf.current().encoding)


def _write(chat: Chat, made: list[Document], through: int, masker: Masker) -> bool:
    """One short write; False, and nothing written, if anything it rests on has moved."""
    with transaction.atomic():
        bank = Bank.objects.select_for_update().filter(pk=chat.bank_id).first()
        if bank is None or MaskedValue.objects.masker(bank).known != masker.known:
            return False
        written = write(chat, bank, made, through)
        if written:
            remask.learn(bank, masker)
    return written


def write(chat: Chat, bank: Bank, made: list[Document], through: int) -> bool:
    """Index ``made`` of the turns of ``chat`` as it was read, up to ``through``. The caller holds ``bank``.

    False, and nothing written, if anything it rests on has moved.
    """
    if any(getattr(bank, setting) != getattr(chat.bank, setting) for setting in RESTS_ON) or not bank.enabled:
        return False
    unmoved = Chat.objects.filter(pk=chat.pk, private=False, indexed_through=chat.indexed_through)
    if not unmoved.update(indexed_through=through, index_due=Q(summarised_through__gt=through)):
        return False
    alive = dict(Output.objects.filter(pk__in=[document.id for document in made]).values_list("pk", "sequence"))
    # A turn that is indexed again keeps its vector.
    SearchDocument.objects.bulk_create(
        _rows(chat, made, alive),
        update_conflicts=True,
        unique_fields=["output"],
        update_fields=["words", "length", "lines"],
    )
    return True


def _rows(chat: Chat, made: Iterable[Document], alive: Mapping[int, int]) -> list[SearchDocument]:
    """The rows of those documents whose turns are still there, by their ids with their sequences."""
    return [
        SearchDocument(
            output_id=document.id,
            bank_id=chat.bank_id,
            chat_id=chat.pk,
            sequence=alive[document.id],
            words=index_text(chat.bank_id, chat.pk, document.content, (*document.dates, *document.speakers)),
            length=len(document.content),
            lines=[[said.speaker, said.text, said.worth] for said in document.lines],
            said_at=document.said_at,
            previous=document.previous,
        )
        for document in made
        if document.id in alive
    ]

"""Check on live data that only the readers of a private chat can see its memory (I9). Reads only."""

from collections.abc import Iterator

from memorybank.models import Bank, Chat, public_id
from memorybank.reading.digest_lines import mismatched
from memorybank.reading.recall.index_terms import audience_words, chat_word, private_word

#: Chats read per batch.
CHATS_AT_ONCE = 2_000
#: The place of an error, and its description.
Flaw = tuple[str, str]


def flaws(bank: Bank) -> Iterator[Flaw]:
    """Find the data of private chats that other people could see; the descriptions contain no chat text."""
    keys = set(bank.chats.filter(private=True).values_list("key", flat=True))
    yield from _digests(bank)
    yield from _blocks(bank, keys)
    for chat in bank.chats.prefetch_related("readers").iterator(CHATS_AT_ONCE):
        yield from _documents(chat)


def _digests(bank: Bank) -> Iterator[Flaw]:
    """Everybody can read digests, so they must not absorb a private chat, and none of their lines may tell of it.

    Only withdrawn lines may rest on a private chat, because nobody reads them.
    """
    for entry in bank.entries.filter(chat__private=True).exclude(parent=None).values_list("pk", flat=True):
        yield f"entry {public_id(entry)}", "is of a private chat, and a digest has absorbed it"
    for line in mismatched(bank):
        wrongly = "is told, and rests on a private chat or on what was corrected since"
        yield f"fact {public_id(line.pk)}", "is withdrawn, but may be told" if line.withdrawn else wrongly


def _blocks(bank: Bank, private: set[str]) -> Iterator[Flaw]:
    """Everybody can read stored blocks and the block's history, so they must not use private chats either."""
    for stored in bank.blocks.all():
        lines = (*stored.packed.lines, *stored.packed.reserve)
        if not private.isdisjoint(key for line in lines for key in line.chats):
            yield f"block {stored.version}", "a line rests on a private chat"
    for line, chats in bank.line_versions.readable().values_list("pk", "chats"):
        if not private.isdisjoint(chats):
            yield f"line {public_id(line)} of a block", "rests on a private chat"


def _documents(chat: Chat) -> Iterator[Flaw]:
    """The index terms of each turn must name exactly the readers of its chat."""
    readers = [reader.person for reader in chat.readers.all()] if chat.private else None
    marks = {chat_word(chat.bank_id, chat.pk), *audience_words(chat.bank_id, readers)}
    for output, text in chat.documents.values_list("pk", "words"):
        words = text.split(" ")
        if set(words[: len(marks)]) != marks or (readers is None and private_word(chat.bank_id) in words):
            yield f"output {public_id(output)}", "the index has it for somebody else"

"""Mark answers in other chats that repeat a chat which has just become private, unless others say it in public."""

from collections import defaultdict
from collections.abc import Collection

from memorybank.data_inventory import OutputsByChat
from memorybank.language.terms import distinct_terms
from memorybank.models import NOBODY, Bank, Chat, Output, QuotedChat
from memorybank.models.chat import sequences_by_chat
from memorybank.quoted_words import digest_of, own_words
from memorybank.reading.recall import index
from memorybank.reading.recall.index_terms import hash_word

#: The newest turns with a word in which it is looked for among what people said.
MAX_TURNS_PER_WORD = 20


def mark_quotes(bank: Bank, private: Chat, words: frozenset[str]) -> OutputsByChat:
    """Mark the answers in other chats that repeat ``words`` of ``private``, which is not public any more; return them.

    A word that a person has said in another public chat is not private: the answer is then linked to that chat, and
    marked when this becomes private, too. Answers that repeat a marked answer are marked, in its chat or another one.
    The caller holds the bank's lock, and has taken ``private`` out of the index.
    """
    marked = dict[int, Output]()
    spreading = [(private.pk, words)]
    while spreading:
        source, words = spreading.pop()
        turns = [turn for turn in Output.objects.repeating(source).exclude(chat=private) if turn.pk not in marked]
        repeated = {turn.pk: _written_words(turn) & words for turn in turns}
        public = _public_sources(bank, frozenset[str]().union(*repeated.values()))
        found = defaultdict[int, set[str]](set)
        for turn in turns:
            if lost := repeated[turn.pk] - public.keys():
                marked[turn.pk] = turn
                found[turn.chat_id] |= lost
            else:
                others = {public[word].pk: public[word] for word in repeated[turn.pk]}
                QuotedChat.objects.record(turn, (chat for pk, chat in others.items() if pk != turn.chat_id))
        for chat in bank.chats.select_for_update().filter(pk__in=found).order_by("pk"):
            chat.quoted_words = sorted({digest_of(bank.pk, word) for word in found[chat.pk]}.union(chat.quoted_words))
            chat.save(update_fields=["quoted_words"])
        spreading += [(chat, frozenset(lost)) for chat, lost in found.items()]
    Output.objects.filter(pk__in=marked).update(quotes_private=True)
    return sequences_by_chat(marked.values())


def _written_words(turn: Output) -> frozenset[str]:
    """The words of an answer that its question does not have; or those of a note, which a program wrote from memory."""
    return own_words(turn) if turn.answer or turn.messages else distinct_terms(turn.question)


def _public_sources(bank: Bank, words: Collection[str]) -> dict[str, Chat]:
    """A public chat for each of these words that a person has said in one. Turns that are not indexed do not count."""
    ordered = sorted(words)
    found, _ = index.postings(bank.pk, [hash_word(bank.pk, word) for word in ordered], viewer=NOBODY)
    turns = {word: sorted(own)[-MAX_TURNS_PER_WORD:] for word, own in zip(ordered, found, strict=True)}
    rows = Output.objects.visible_to().filter(pk__in={pk for own in turns.values() for pk in own})
    rows = rows.exclude(answer="", quoted_chats__isnull=False)  # notes
    said = {
        turn.pk: (turn.chat, distinct_terms(turn.question))
        for turn in rows.filter(erasure_requested=False).select_related("chat").only("question", "chat__bank_id")
    }
    sources = dict[str, Chat]()
    for word, own in turns.items():
        for pk in own:
            if pk in said and word in said[pk][1]:
                sources[word] = said[pk][0]
    return sources

"""Recall: find the ranked facts and turns of a bank that answer a question, and the notes for a prompt.

Turns are searched (measured: better than searching what was extracted from them), over the database's own full-text
index. Facts are found through the turns they cite, so hiding, editing or erasing one needs no index.
:mod:`memorybank.indexing.document_writer` writes the index; its code is not loaded for a question.
"""

from memorybank.reading.recall.hits import Hit, facts_about, recall
from memorybank.reading.recall.index_cache import IndexCache, MemoryState, kept
from memorybank.reading.recall.notes import SentencePlace, find_passages, given_passages, visible_sentences
from memorybank.reading.recall.searching import chats_mentioning

__all__ = [
    "Hit",
    "IndexCache",
    "MemoryState",
    "SentencePlace",
    "chats_mentioning",
    "facts_about",
    "find_passages",
    "given_passages",
    "kept",
    "recall",
    "visible_sentences",
]

"""Recall: find the ranked facts and turns of a bank that answer a question, and the notes for a prompt.

The search covers turns (measured: better than searching the facts extracted from them), in the database's own full-text
index. Facts are found through the turns they cite, so hiding, editing or erasing a fact changes no index.
:mod:`memorybank.indexing.document_writer` writes the index; answering a question does not import it.
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

"""Recall: a question → ranked facts and turns of one bank, and the part of a prompt block that answers it.

Turns are searched (measured: better than searching what was extracted from them), over the database's own
full-text index. Facts are found through the turns they cite, so hiding, editing or erasing one needs no index.
Writing the index is the business of :mod:`memorybank.indexing.document_writer`, whose rules no question needs.
"""

from memorybank.reading.recall.hits import Hit, about, recall
from memorybank.reading.recall.notes import answering, visible
from memorybank.reading.recall.searching import mentioning

__all__ = [
    "Hit",
    "about",
    "answering",
    "mentioning",
    "recall",
    "visible",
]

"""Recall: find the ranked facts and turns of a bank that answer a question, and the notes for a prompt.

The search covers turns (measured: better than searching the facts extracted from them), in the database's own full-text
index. Facts are found through the turns they cite, so hiding, editing or erasing a fact changes no index.
:mod:`memorybank.indexing.document_writer` writes the index; answering a question does not import it.
"""

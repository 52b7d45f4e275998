"""Distinguish a client's side calls (titles, summaries, sub-agents …) from the turns of a conversation. Pure.

A side call is recognised by the client's own mark, by the answer format that it requests, or because it quotes a
conversation instead of continuing one. The wording of a client's prompts does not matter.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .messages import ParsedRequest, single_spaced
from .protocols import AnswerFormat
from .request_identity import MEMORY_HEADER
from .typed_words import only_labels, part, quotes_conversation

#: Values of ``metadata.task`` that mark a side call.
SIDE_TASK = re.compile(r"_generation$|^function_calling$")
#: Names of headers with which an agent marks the requests of its sub-agents.
AGENT_HEADER = re.compile(r"sub-?agent|(?:^|-)parent-(?:thread|session|agent)|-agent-id$", re.I)
#: The fields of an answer that labels a conversation: it has a title, and no field that is not listed here.
LABEL_FIELDS = frozenset(["title", "emoji", "language", "tags", "topic", "topics", "isNewTopic"])
#: A person's question cannot be answered in fewer tokens; clients test a connection with one.
MIN_ANSWER_TOKENS = 2
#: An agent that compacts an older part of a conversation adds instructions of at least so many characters.
MIN_COMPACTION_CHARACTERS = 500
#: A shorter answer may be repeated by chance.
MIN_SUMMARY_CHARACTERS = 80
DIALOGUE_ROLES = ("user", "assistant")


def is_side_call(answer: AnswerFormat, request: ParsedRequest) -> bool:
    """Whether a request for such an answer is a side call, judged without earlier requests."""
    return (
        LABEL_FIELDS >= answer.fields >= {"title"}
        or answer.forces_upstream_tool
        or answer.max_tokens in range(1, MIN_ANSWER_TOKENS)
        or (_is_alone(request) and not answer.tools and _is_about_words(request, answer))
    )


def is_declared(body: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Whether the client marks the request as a side call: by header, in ``metadata``, or as a sub-agent's."""
    metadata = body.get("metadata")
    values: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    if "off" in (headers.get(MEMORY_HEADER, "").lower(), str(values.get("memory", "")).lower()):
        return True
    marked = any(value and AGENT_HEADER.search(name) for name, value in headers.items())
    return marked or bool(SIDE_TASK.search(str(values.get("task", ""))))


def _is_alone(request: ParsedRequest) -> bool:
    """Whether no answer precedes the question."""
    return not any(message.role == "assistant" for message in request.before)


def _is_about_words(request: ParsedRequest, answer: AnswerFormat) -> bool:
    """Whether the question quotes a conversation, or has only labels besides quotations.

    A streamed answer is for a person, who may have pasted a conversation to ask about it. So if the answer streams,
    only a label before the question counts.
    """
    if _is_labelled(request) or answer.streams:
        return _is_labelled(request)
    question = request.question
    texts = [question.text, *(quotation.text for quotation in question.quoted)]
    return any(map(quotes_conversation, texts)) or bool(question.quoted and only_labels(question.text))


def _is_labelled(request: ParsedRequest) -> bool:
    """Whether a message before the question only labels it, as in “The conversation:”."""
    return any(message.role == "user" and message.text and only_labels(message.text) for message in request.before)


def quotes_turn(request: ParsedRequest, turns: Iterable[tuple[str, str]]) -> bool:
    """Whether a request without a history quotes one of these turns of its chat, question and answer."""
    if not _is_alone(request):
        return False
    question = request.question
    text = single_spaced("\n".join([question.text, *(quotation.text for quotation in question.quoted)]))
    return any(
        recorded_question
        and recorded_answer
        and single_spaced(recorded_question) in text
        and single_spaced(recorded_answer) in text
        for recorded_question, recorded_answer in turns
    )


def compacts(request: ParsedRequest, questions: Iterable[str]) -> bool:
    """Whether a request repeats one of these answered questions and appends long instructions to it."""
    text = request.question.text
    return any(
        text.startswith(f"{question}\n") and len(text) - len(question) >= MIN_COMPACTION_CHARACTERS
        for question in questions
    )


def is_summary(answer: str, request: ParsedRequest) -> bool:
    """Whether the client sends this answer back in a person's message, as a summary of the conversation."""
    pieces = [answer.strip(), *(quotation.text for quotation in part(answer).quoted)]
    long = [single_spaced(piece) for piece in pieces if len(piece) >= MIN_SUMMARY_CHARACTERS]
    messages = [*request.before, request.question]
    texts = {
        role: [single_spaced(message.text) for message in messages if message.role == role] for role in DIALOGUE_ROLES
    }
    return any(
        any(piece in text for text in texts["user"]) and not any(piece in text for text in texts["assistant"])
        for piece in long
    )

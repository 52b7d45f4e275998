"""Have a chat's own model write a better title than the beginning of the first message.

The model reads that message alone, because an answer may quote private memory. A title has only words of the message,
so that an erasure of the message finds it. The model is called outside any transaction.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import partial

from django.db import transaction

from memorybank import conf, llm
from memorybank.clock import PRESENT, at_present
from memorybank.core import transcript
from memorybank.core.transcript import SourceItem
from memorybank.core.turns import Turn
from memorybank.exceptions import UnusableAnswer
from memorybank.language.terms import FUNCTION_WORDS, words
from memorybank.model_calls.session import PromptSpec, Purpose, chat_session
from memorybank.models import Bank, Chat, MaskedValue, Output

MAX_TITLE_CHARACTERS = 60
#: Titles to ask for: several, because some may have words that are not in the message.
MAX_TITLES, MAX_WORDS_PER_TITLE = 3, 8
#: The model is shown this much of a long message.
MAX_MESSAGE_TOKENS = 1_000

_PROMPT = PromptSpec("title", MAX_TITLES * MAX_WORDS_PER_TITLE, MAX_TITLES, cited=False)
_TITLE = re.compile(r"^[^\w\n]*title:(.+)$", re.I | re.M)


@at_present
def improve_title(bank: Bank, *, output: int, now: datetime = PRESENT) -> bool:
    """Give the chat of the turn with the id ``output``, its first, a title from its model; return whether it got one.

    Only a title that is the beginning of the turn's message is replaced: one that somebody wrote stays. Does nothing
    without a chat model. Raises :class:`LLMError` if the call fails; it is in the ledger all the same.
    """
    model, first = llm.get("chat"), Output.objects.filter(pk=output, chat__bank=bank).select_related("chat").first()
    if model is None or first is None or not _is_beginning(old := first.chat.title, first.question):
        return False
    message = Output(pk=first.pk, author=first.author, question=first.question, created_at=first.created_at)
    [turn] = transcript.read([message], tz=bank.tz, masker=MaskedValue.objects.masker(bank))
    proved = partial(_titles, message="\n".join(utterance.text for utterance in turn.utterances))
    with chat_session(bank, model, now) as session:
        [title, *_] = session.read(Purpose.TITLE, _PROMPT, {"data": [_beginning_of(turn)]}, proved)
    with transaction.atomic():
        Bank.objects.lock(bank.pk)  # an erasure waits
        still = Output.objects.filter(pk=output, chat__title=old)
        return bool(Chat.objects.filter(pk__in=still.values("chat")).update(title=title))


def _is_beginning(title: str, message: str) -> bool:
    """Whether a title is the first line of a message, or its beginning with an ellipsis."""
    line = next(iter(message.strip().splitlines()), "").strip()
    return bool(title) and (title == line or (title.endswith("…") and line.startswith(title.removesuffix("…"))))


def _beginning_of(turn: Turn) -> SourceItem:
    """As much of the message as is needed for a title."""
    encoding = conf.current().encoding
    items = transcript.undated_items([turn], encoding=encoding)
    return transcript.chunks(items, MAX_MESSAGE_TOKENS, encoding=encoding)[0][0]


def _titles(answer: str, message: str) -> list[str]:
    """The answer's titles that are short and have no other words than the message."""
    known = " ".join(words(message))
    titles = [title for title in _lines(answer) if _is_supported(title, known)]
    if not titles:
        raise UnusableAnswer("No usable title in the answer: none is short and has the words of the message only.")
    return titles


def _lines(answer: str) -> Iterator[str]:
    for line in _TITLE.findall(answer):
        yield line.strip(" .*\"'“”„«»`")


def _is_supported(title: str, known: str) -> bool:
    content_words = set(words(title)) - FUNCTION_WORDS
    return bool(content_words) and len(title) <= MAX_TITLE_CHARACTERS and all(word in known for word in content_words)

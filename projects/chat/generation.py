"""Generate answers in this process, each in its own thread, even if no client is connected.

One more thread saves their text to the database twice a second, so that other processes can show it. It also reads
there whether somebody has stopped an answer or erased its message.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import copy_context
from datetime import datetime, timedelta
from threading import Event, Lock, Thread
from time import monotonic

from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import get_language, override

from memorybank import llm, services
from memorybank.exceptions import InvalidInput, log_message
from memorybank.services import Output
from projects.models import Draft
from projects.web import titles
from projects.web.db_connections import release_connection

from . import service
from .model_call import Stopped
from .service import AnswerRequest, Reply

logger = logging.getLogger(__name__)

SAVE_SECONDS = 0.5
#: A draft without new text is saved again after this time, to show that its process is alive.
SIGN_OF_LIFE = timedelta(seconds=3)


class Generation:
    """One answer that is being generated. ``text`` is the part that exists so far."""

    def __init__(self, asked: AnswerRequest) -> None:
        self.asked, self.text = asked, asked.prefix
        self.over = Event()
        self.saved: tuple[int, datetime] = (0, timezone.now())
        self._stopped = False
        self._lock = Lock()
        self._listeners: set[Callable[[], None]] = set()

    def on_chunk(self, chunk: str) -> None:
        """Append a chunk. Raises :class:`Stopped` if the answer was stopped."""
        with self._lock:
            if self._stopped:
                raise Stopped
            self.text += chunk
        self._notify()

    def stop(self) -> None:
        """Accept no more text."""
        with self._lock:
            self._stopped = True

    def end(self) -> None:
        """Tell the listeners that the result is in the database."""
        self.over.set()
        self._notify()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener``, from any thread, whenever there is more text, until :meth:`ignore`."""
        self._listeners.add(listener)

    def ignore(self, listener: Callable[[], None]) -> None:
        """See :meth:`listen`."""
        self._listeners.discard(listener)

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            with suppress(RuntimeError):  # its event loop has been closed
                listener()


_running: dict[int, Generation] = {}
_saver: Thread | None = None
_lock = Lock()
_save_now = Event()


def begin(asked: AnswerRequest) -> None:
    """Start generating the answer to a recorded message in the background, unless it is already answered."""
    global _saver
    if asked.output.status == Output.Status.OK:
        return
    now, generation = timezone.now(), Generation(asked)
    Draft.objects.update_or_create(
        output=asked.output, defaults={"text": asked.prefix, "saved_at": now, "stopping": False}
    )
    with _lock:
        _running[asked.output.pk] = generation
        if _saver is None:
            _saver = Thread(target=_save_drafts, name="drafts", daemon=True)
            _saver.start()
    # in the context of the request, so that log lines have its id
    answer = services.carried(_generate)
    Thread(target=copy_context().run, args=(answer, generation, get_language()), daemon=True).start()


def of_this_process(output: Output) -> Generation | None:
    return _running.get(output.pk)


def running_count() -> int:
    return len(_running)


def awaited(outputs: Iterable[Output], now: datetime) -> set[int]:
    """Outputs still being generated: their process reported recently, or has not yet and the timeout has not passed."""
    pending = [output for output in outputs if output.status == Output.Status.PENDING]
    if not pending:
        return set()
    drafts = dict(Draft.objects.filter(output__in=pending).values_list("output_id", "saved_at"))
    alive = set(Draft.objects.filter(output__in=pending).alive(now).values_list("output_id", flat=True))
    timeout = service.answer_timeout()
    return alive | {output.pk for output in pending if output.pk not in drafts and output.is_awaited(now, timeout)}


def stop(output: Output) -> None:
    """Stop an answer in whichever process generates it; does nothing if the answer is already complete."""
    Draft.objects.filter(output=output).update(stopping=True)
    _save_now.set()


@services.all_banks_entered()
def shut_down(seconds: float) -> None:
    """Wait up to ``seconds`` for the answers of this process, then stop the rest; their messages can be asked again."""
    deadline = monotonic() + seconds
    for generation in tuple(_running.values()):
        if not generation.over.wait(max(0.0, deadline - monotonic())):
            generation.stop()
            with suppress(InvalidInput, DatabaseError):
                bank, output = generation.asked.project.bank, generation.asked.output
                services.complete(bank, output, status=Output.Status.STOPPED)
            _end(generation)
    release_connection()


def _generate(generation: Generation, language: str | None) -> None:
    try:
        if reply := _reply(generation, language):
            titles.request_better(generation.asked.chat, reply.output)
    finally:
        release_connection()


def _reply(generation: Generation, language: str | None) -> Reply | None:
    """The stored answer, of which the listeners have been told; None without one."""
    try:
        with override(language):  # of the person who asked, for messages about a failed compaction
            reply = service.answer(generation.asked, generation.on_chunk)
            return reply if reply.answer else None
    except InvalidInput as why:  # erased meanwhile
        logger.info("output %s: no answer is kept: %s", generation.asked.output.pk, why)
    except Exception as error:
        logger.error("output %s: %s", generation.asked.output.pk, log_message(error))
    finally:
        with suppress(DatabaseError):
            _end(generation)
    return None


def _end(generation: Generation) -> None:
    """Remove a generation, unless a newer one answers its message; a broken-off answer keeps its text as a draft."""
    pk = generation.asked.output.pk
    with _lock:
        newest = _running.get(pk) is generation
        if newest:
            del _running[pk]
    try:
        if newest:
            drafts = Draft.objects.filter(pk=pk)  # already deleted if an answer was stored
            drafts.update(text=generation.text) if generation.text else drafts.delete()
    finally:
        generation.end()


@services.all_banks_entered()  # one thread saves the drafts of all banks
def _save_drafts() -> None:
    """Save all drafts at intervals until nothing is being generated."""
    global _saver
    while True:
        _save_now.wait(SAVE_SECONDS)
        _save_now.clear()
        with _lock:
            generations = list(_running.values())
            if not generations:
                _saver = None
                return
        try:
            _save(generations, timezone.now())
        except Exception as error:  # the database is busy or unreachable: the next attempt may succeed
            logger.warning("drafts: %s", log_message(error))
        release_connection()


def _save(generations: list[Generation], now: datetime) -> None:
    drafts = Draft.objects.filter(output__in=[generation.asked.output.pk for generation in generations])
    stopping = dict(drafts.values_list("output_id", "stopping"))
    with transaction.atomic():
        for generation in generations:
            length, saved_at = generation.saved
            text, pk = generation.text, generation.asked.output.pk
            if stopping.get(pk) is False and (len(text) > length or now - saved_at > SIGN_OF_LIFE):
                Draft.objects.filter(pk=pk).update(text=text, saved_at=now)
                generation.saved = len(text), now
    for generation in generations:
        if stopping.get(generation.asked.output.pk, True):
            _stop(generation)


def _stop(generation: Generation) -> None:
    """Complete an answer with its text so far, without waiting for its thread; does nothing to an erased message."""
    generation.stop()
    prompt, text, model = generation.asked.prompt, generation.text, llm.get("chat")
    completion = llm.Completion(text, prompt.tokens, services.count_tokens(text), model.model if model else "")
    with suppress(InvalidInput):
        service.stopped(generation.asked, completion)
    _end(generation)

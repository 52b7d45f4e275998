"""Client for any OpenAI-compatible endpoint, hosted or local; translates its errors into ours."""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from memorybank.exceptions import LLMError, LLMMisconfigured, LLMRejected, LLMTooLong, LLMUnavailable
from memorybank.language import tokens
from memorybank.llm.base import LLM, Completion, Message, fingerprint
from memorybank.llm.error_scrubbing import scrub_errors
from memorybank.llm.stream_text import StreamState, text_in, visible_text

if TYPE_CHECKING:
    from openai import OpenAI

OPENAI_URL = "https://api.openai.com/v1"
MAX_ERROR_CHARACTERS = 500

# Reasoning models behind plain servers put their thoughts before the answer.
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.S)

# Error texts for a prompt that is too long: OpenAI, vLLM, llama.cpp, Ollama, Mistral, Anthropic, Google, gateways.
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|maximum context|max_model_len|prompt (?:is )?too (?:long|large)"
    r"|(?:input|prompt|request|token count|tokens)\b[^.]{0,60}\b(?:exceeds?|too (?:long|large))\b"
    r"|too many (?:input )?tokens",
    re.I,
)


class OpenAICompatibleLLM(LLM):
    """Calls ``base_url`` ("" means OpenAI itself) with ``api_key`` ("" for local servers that need none).

    ``timeout`` (seconds) applies to connecting and to each wait for data, not to the whole answer. Only the SDK
    retries: ``max_retries`` times, with back-off, obeying Retry-After up to two minutes. The SDK is imported at the
    first call (half a second). ``json_schema`` says that the endpoint supports ``response_format`` of type
    ``json_schema``, as OpenAI, vLLM, llama.cpp and Ollama do; None: unknown.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "",
        api_key: str = "",
        timeout: float = 60.0,
        max_retries: int = 2,
        json_schema: bool | None = False,
    ) -> None:
        self.model = model
        self.base_url = base_url or OPENAI_URL
        self.timeout = timeout
        self.max_retries = max_retries
        self.json_schema = json_schema
        self.patience = timeout * (max_retries + 1)
        self._api_key = api_key
        self._cap = "max_tokens"
        self._usage = True

    @property
    def fingerprint(self) -> str:
        """sha256 hex of address, model and key."""
        return fingerprint(self.base_url, self.model, self._api_key)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """One chat completion, not streamed. See ``LLM.complete`` for the errors."""
        clean = [Message(role=message["role"], content=_utf8(message["content"])) for message in messages]
        with scrub_errors([message["content"] for message in clean if message["role"] != "system"]):
            answer = self._ask(clean, max_tokens, **_response_format(schema))
            text = self._text(answer)
        return self._completion(answer, clean, text)

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Generator[str, None, Completion]:
        """One streamed chat completion; see ``LLM.stream``. Raises :class:`LLMUnavailable` if it breaks off."""
        clean = [Message(role=message["role"], content=_utf8(message["content"])) for message in messages]
        state, text = StreamState(), ""
        with scrub_errors([message["content"] for message in clean if message["role"] != "system"]):
            for piece in visible_text(self._pieces(clean, max_tokens, state)):
                text += piece
                yield piece
            if not text:
                why = "".join(state.refusal) or f"finish reason: {state.finish_reason}"
                raise LLMRejected(self._bounded(f"The model returned an empty answer ({why})"))
        return self._completion(state, clean, text)

    def load(self) -> None:
        """Import the SDK (a second)."""
        import openai.resources.chat.completions  # noqa: F401  (the package alone imports them at the first call)

    def close(self) -> None:
        """Close the connection pool, if there was a call."""
        client = self.__dict__.pop("_client", None)
        if client:
            client.close()

    def _ask(self, messages: Sequence[Message], max_tokens: int | None, **options: Any) -> Any:
        """The provider's answer. Newer OpenAI models want ``max_completion_tokens``, which one rejection tells us."""
        try:
            return self._create(messages, max_tokens, **options)
        except LLMRejected as error:
            if max_tokens is None or self._cap == "max_completion_tokens" or "max_completion_tokens" not in str(error):
                raise
        self._cap = "max_completion_tokens"
        return self._create(messages, max_tokens, **options)

    def _pieces(self, messages: Sequence[Message], max_tokens: int | None, state: StreamState) -> Iterator[str]:
        """Yield the raw text of a stream in pieces; stores its metadata in ``state``."""
        with closing(self._opened(messages, max_tokens)) as chunks:
            try:
                for chunk in chunks:
                    yield text_in(chunk, state)
            except Exception as error:  # as in ``_create``
                self._translate(error)
        if not state.finish_reason:
            raise LLMUnavailable("The answer broke off.")

    def _opened(self, messages: Sequence[Message], max_tokens: int | None) -> Any:
        """Open the stream. Requests the usage until the endpoint rejects that option."""
        if self._usage:
            try:
                return self._ask(messages, max_tokens, stream=True, stream_options={"include_usage": True})
            except LLMRejected as error:
                if "stream_options" not in str(error) and "include_usage" not in str(error):
                    raise
            self._usage = False
        return self._ask(messages, max_tokens, stream=True)

    def _create(self, messages: Sequence[Message], max_tokens: int | None, **options: Any) -> Any:
        cap = {} if max_tokens is None else {self._cap: max_tokens}
        try:
            create: Any = self._client.chat.completions.create
            return create(model=self.model, messages=messages, **cap, **options)
        except LLMMisconfigured:  # the SDK is not installed
            raise
        except Exception as error:  # the SDK does not wrap JSON, header and URL errors
            self._translate(error)

    @cached_property
    def _client(self) -> "OpenAI":
        try:
            import openai
        except ModuleNotFoundError as error:
            raise LLMMisconfigured('A model needs the package openai: pip install "memory-bank[models]"') from error

        # Without a key, the SDK reads one from the environment or fails; local servers ignore the placeholder.
        return openai.OpenAI(
            base_url=self.base_url,
            api_key=self._api_key or "none",
            timeout=self.timeout,
            max_retries=self.max_retries,
        )

    def _text(self, answer: Any) -> str:
        choices = getattr(answer, "choices", None)
        if not choices:
            self._refuse(answer)
        message = choices[0].message
        text = _THOUGHTS.sub("", getattr(message, "content", None) or "").strip()
        if not text:
            why = getattr(message, "refusal", None) or f"finish reason: {choices[0].finish_reason}"
            raise LLMRejected(self._bounded(f"The model returned an empty answer ({why})"))
        return text

    def _refuse(self, answer: Any) -> NoReturn:
        """Raise the error for a 200 response without an answer: some gateways put the real error into it."""
        error = (getattr(answer, "model_extra", None) or {}).get("error")
        if isinstance(error, Mapping):
            code = error.get("code")
            status = code if isinstance(code, int) else 502
            raise self._status_error(status, str(error.get("message") or error))
        problem = answer if isinstance(answer, str) else "no choices in the answer"
        raise LLMUnavailable(self._bounded(f"The endpoint did not answer as a chat model: {problem}"))

    def _completion(self, answer: Any, messages: Sequence[Message], text: str) -> Completion:
        usage = getattr(answer, "usage", None)
        prompt = getattr(usage, "prompt_tokens", None)
        completion = getattr(usage, "completion_tokens", None)
        if not isinstance(prompt, int):
            prompt = sum(tokens.count(message["content"]) for message in messages)
        if not isinstance(completion, int):
            completion = tokens.count(text)
        return Completion(text, prompt, completion, getattr(answer, "model", None) or self.model)

    def _translate(self, error: Exception) -> NoReturn:
        """Raise our exception that corresponds to the SDK's."""
        import openai

        if isinstance(error, openai.APIStatusError):
            retry_after = _retry_after(error.response.headers)
            raise self._status_error(error.status_code, _provider_message(error), retry_after) from error
        if isinstance(error, openai.APITimeoutError):
            raise LLMUnavailable(f"No answer within {self.timeout:g} s") from error
        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__ or error
            kind = LLMMisconfigured if type(cause).__name__ in ("UnsupportedProtocol", "InvalidURL") else LLMUnavailable
            raise kind(self._bounded(f"Cannot connect to {self.base_url}: {cause}")) from error
        if type(error) is openai.APIError:  # an error in mid-answer, after a 200
            code = error.body.get("code") if isinstance(error.body, Mapping) else None
            raise self._status_error(code if isinstance(code, int) else 502, error.message) from error
        if isinstance(error, UnicodeError | openai.OpenAIError) or type(error).__name__ == "InvalidURL":
            raise LLMMisconfigured(self._bounded(f"{type(error).__name__}: {error}")) from error
        raise LLMUnavailable(self._bounded(f"Unreadable answer: {type(error).__name__}: {error}")) from error

    def _status_error(self, status: int, words: str, retry_after: float | None = None) -> LLMError:
        message = self._bounded(f"HTTP {status}: {words}")
        if status in (401, 403, 404):
            return LLMMisconfigured(message)
        if status in (408, 409, 429) or status >= 500:
            return LLMUnavailable(message, retry_after=retry_after)
        return LLMTooLong(message) if status == 413 or _TOO_LONG.search(words) else LLMRejected(message)

    def _bounded(self, message: str) -> str:
        """Truncate the provider's message, and remove the API key in case the provider echoes it."""
        if self._api_key:
            message = message.replace(self._api_key, "[key]")
        return " ".join(message.split())[:MAX_ERROR_CHARACTERS]


def _utf8(text: str) -> str:
    """Replace lone surrogates by "?", because they cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _provider_message(error: Any) -> str:
    """The provider's error message, or the raw body if there is none."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        body = (inner.get("message") if isinstance(inner, Mapping) else inner) or body
    return str(body or "no explanation")


def _response_format(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The request option by which the endpoint enforces ``schema``."""
    if schema is None:
        return {}
    named = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from the Retry-After header, or None; an HTTP date is compared with the response's Date header."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        seconds = _until(value, headers.get("date", ""))
    return seconds if 0 <= seconds < float("inf") else None


def _until(value: str, date: str) -> float:
    """Seconds from ``date`` (or now) to ``value``, both HTTP dates; NaN when unreadable."""
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return float("nan")
    try:
        now = parsedate_to_datetime(date)
    except ValueError:
        now = datetime.now(UTC)
    return max((then - now).total_seconds(), 0.0) if then.tzinfo and now.tzinfo else float("nan")

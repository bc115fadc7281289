"""Get replies from an endpoint with OpenAI's chat API, with retries and limits. Imported late: it loads slowly."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NoReturn

import anyio
import httpx2
import openai
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)

from cortex.http import CONNECTION_FAULTS, Beginning, leave, read_at_most, trust_for
from cortex.loop import Message, ModelError, ModelReply, Waiting
from cortex.settings import ModelSettings
from cortex.text import Turns
from sandbox import JsonLimits, TooComplex, check_json

from .chat_format import EventStream, EventTooLong, MalformedReply, ReplyAssembly, chat_request, estimated_tokens
from .model_faults import OPENAI_URL, Faults, innermost_reason, key_of

log = logging.getLogger("motor_cortex")

# The openai client requires a key, and small servers ignore it.
_NO_KEY = "none"
_FIRST_WAIT_S = 0.5
_CLOSE_S = 2
_MAX_ERROR_BYTES = 65_536
# A normal reply holds a few dozen objects and values, or some thousands with the log probabilities of all its tokens.
REPLY_LIMITS = JsonLimits(containers=25_000, values=100_000)
# A reply on the wire is larger than its text: a JSON escape takes up to six bytes for one, and there is an envelope.
_WIRE_FACTOR, _ENVELOPE_BYTES = 6, 65_536


class ChatClient:
    def __init__(
        self,
        settings: ModelSettings,
        *,
        on_wait: Callable[[Waiting], None],
        sleep: Callable[[float], Awaitable[None]],
        now: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._on_wait = on_wait
        self._sleep = sleep
        self._now = now
        self._faults = Faults(settings)
        self._max_wire_bytes = _WIRE_FACTOR * settings.max_reply_bytes + _ENVELOPE_BYTES
        # Limit of one event, lower than that of the reply: parsed JSON takes up to 50 times the memory of its text.
        self._max_event_bytes = settings.max_reply_bytes + _ENVELOPE_BYTES
        self._with_usage = True
        self._is_proven = False
        """Whether a request has succeeded before: then the endpoint accepts our parameters."""
        # Without a stream the first byte comes only when the reply is complete.
        stall_s = settings.stall_timeout_s if settings.stream else settings.reply_timeout_s
        self._client = openai.AsyncOpenAI(
            api_key=key_of(settings) or _NO_KEY,
            base_url=settings.base_url or OPENAI_URL,
            max_retries=0,
            # No compression: a small response could unpack to a large one.
            default_headers={"Accept-Encoding": "identity"},
            http_client=httpx2.AsyncClient(
                verify=trust_for(settings.base_url or OPENAI_URL),
                timeout=httpx2.Timeout(stall_s, connect=settings.connect_timeout_s),
                # The conversation goes only to the owner's endpoint, not where a server redirects.
                follow_redirects=False,
                event_hooks={"response": [_bound_error]},
            ),
        )
        if settings.base_url is not None:
            # The client takes these from the environment. Only OpenAI may get them, not another endpoint.
            self._client.organization = self._client.project = None

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSE_S):
            await self._client.close()

    async def reply(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], on_text: Callable[[str], None]
    ) -> ModelReply:
        """Get one reply, with retries, all within `reply_timeout_s`. Raises ModelError."""
        is_shown = False

        def show(text: str) -> None:
            nonlocal is_shown
            is_shown = True
            on_text(text)

        def is_worth_another(error: BaseException) -> bool:
            # No retry once text was shown: it cannot be taken back, and a second reply would be appended to it.
            return isinstance(error, ModelError) and error.retryable and not is_shown

        is_last = stop_after_attempt(self._settings.max_attempts)
        attempts = AsyncRetrying(
            sleep=self._sleep,
            stop=lambda attempt: is_last(attempt) or _would_come_too_late(attempt),
            wait=self._wait_s,
            retry=retry_if_exception(is_worth_another),
            # Not in `wait`: that is asked after the last attempt too.
            before_sleep=self._announce,
            reraise=True,
        )
        with anyio.move_on_after(self._settings.reply_timeout_s):
            reply: ModelReply = await attempts(self._attempt, messages, tools, show)
            return reply
        raise self._faults.timed_out()

    def _wait_s(self, attempt: RetryCallState) -> float:
        error = attempt.outcome.exception() if attempt.outcome else None
        assert isinstance(error, ModelError)
        return min(
            wait_exponential_jitter(multiplier=_FIRST_WAIT_S, jitter=_FIRST_WAIT_S)(attempt)
            if error.retry_after_s is None
            else error.retry_after_s,
            self._settings.max_wait_s,
        )

    def _announce(self, attempt: RetryCallState) -> None:
        error, wait_s = attempt.outcome.exception() if attempt.outcome else None, attempt.upcoming_sleep
        assert isinstance(error, ModelError)
        log.info("Attempt %d failed; the next one in %.1f s: %s", attempt.attempt_number, wait_s, error.message)
        self._on_wait(Waiting(error.message, wait_s))

    async def _attempt(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], on_text: Callable[[str], None]
    ) -> ModelReply:
        def body() -> dict[str, Any]:
            return chat_request(messages, tools, self._settings, with_usage=self._with_usage)

        try:
            try:
                reply = await self._ask(body(), on_text)
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                if self._is_proven or not self._with_usage or not self._settings.stream:
                    raise
                # Perhaps the endpoint does not support stream_options (token counts in a stream). Retry without; later
                # requests leave it out too, unless it was not the reason.
                self._with_usage = False
                try:
                    reply = await self._ask(body(), on_text)
                except openai.APIStatusError:
                    self._with_usage = True
                    raise
        except openai.APIStatusError as error:
            raise self._faults.status(error.status_code, error.response.headers, error.body, self._now()) from None
        except (openai.APIConnectionError, *CONNECTION_FAULTS) as error:
            self._raise_connection_fault(error)
        self._is_proven = True
        return reply

    def _raise_connection_fault(self, error: Exception) -> NoReturn:
        cause = error.__cause__ or error if isinstance(error, openai.APIConnectionError) else error
        match cause:
            case httpx2.ConnectTimeout():
                raise self._faults.connection(f"no answer within {self._settings.connect_timeout_s:g} s") from None
            case httpx2.TimeoutException():
                raise self._faults.stalled() from None
            case _:
                raise self._faults.connection(innermost_reason(cause)) from None

    async def _ask(self, body: dict[str, Any], on_text: Callable[[str], None]) -> ModelReply:
        assembly = ReplyAssembly(self._settings.max_reply_bytes)
        create: Any = self._client.chat.completions.with_streaming_response.create
        async with create(**body) as answer:
            response: httpx2.Response = answer.http_response
            if response.headers.get("content-encoding", "identity") != "identity":
                raise self._faults.garbage("it is compressed, which was not asked for")
            if "text/event-stream" in response.headers.get("content-type", ""):
                await self._read_stream(response, assembly, on_text)
            else:
                await self._read_whole(response, assembly, on_text)
        return assembly.reply(estimated_tokens([body["messages"], body.get("tools")]))

    async def _read_stream(
        self, response: httpx2.Response, assembly: ReplyAssembly, on_text: Callable[[str], None]
    ) -> None:
        events, turns = EventStream(self._max_event_bytes), Turns()
        chunks = response.aiter_raw()
        is_done = False
        try:
            async for chunk in chunks:
                await turns.take()
                is_done = self._take_all(events.feed(chunk), assembly, on_text)
                if is_done or assembly.is_full:
                    break
            else:
                self._take_all(events.end(), assembly, on_text)
        except EventTooLong as error:
            raise self._faults.garbage(str(error)) from None
        except CONNECTION_FAULTS:
            # The reply is complete; only the end of the stream is missing.
            if not assembly.is_complete:
                raise
        finally:
            await leave(chunks, is_ending=is_done)
        if text := assembly.end():
            on_text(text)
        if not assembly.is_complete and not assembly.is_full:
            raise self._faults.broken_off()

    async def _read_whole(
        self, response: httpx2.Response, assembly: ReplyAssembly, on_text: Callable[[str], None]
    ) -> None:
        """Read a reply without a stream, also from an endpoint that was asked for a stream and does not support it."""
        body = await read_at_most(response, self._max_wire_bytes)
        if body is None:
            raise self._faults.garbage(f"it has more than {self._max_wire_bytes} bytes")
        self._take(body, assembly, on_text)
        if text := assembly.end():
            on_text(text)
        if not assembly.is_complete:
            raise self._faults.garbage("it holds no reply")

    def _take_all(self, events: list[bytes], assembly: ReplyAssembly, on_text: Callable[[str], None]) -> bool:
        """Add the events to the reply. Returns whether the endpoint has sent [DONE]."""
        for event in events:
            if event.strip() == b"[DONE]":
                return True
            self._take(event, assembly, on_text)
        return False

    def _take(self, data: bytes, assembly: ReplyAssembly, on_text: Callable[[str], None]) -> None:
        try:
            check_json(data, REPLY_LIMITS)
            value = json.loads(data)
        except TooComplex as error:
            raise self._faults.garbage(f"it holds {error}") from None
        except (ValueError, RecursionError):
            is_page = data.lstrip()[:1] == b"<"
            raise self._faults.garbage("a page for people" if is_page else "it is not JSON") from None
        if isinstance(value, dict) and value.get("error"):
            raise self._faults.in_stream(value["error"])
        try:
            text = assembly.add(value)
        except MalformedReply as error:
            raise self._faults.garbage(str(error)) from None
        if text:
            on_text(text)


def _would_come_too_late(attempt: RetryCallState) -> bool:
    """Whether the time of the reply, or of the turn, ends before the next attempt."""
    return anyio.current_time() + attempt.upcoming_sleep >= anyio.current_effective_deadline()


async def _bound_error(response: httpx2.Response) -> None:
    """Limit the body of an error response: the openai client would read all of it, whatever its size."""
    if not response.is_success and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = Beginning(response.stream, _MAX_ERROR_BYTES)

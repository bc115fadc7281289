"""Translate between a conversation and OpenAI's chat API: build the request, read the events, assemble the reply.

Pure and bounded. Strict endpoints accept the request, and the mistakes of real endpoints in a reply are tolerated.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

from cortex.loop import (
    MAX_CALLS,
    AssistantMessage,
    Finish,
    Message,
    ModelReply,
    PicturesMessage,
    SystemMessage,
    ToolAnswer,
    ToolRequest,
    Usage,
    UserMessage,
    parsed_arguments,
)
from cortex.text import WholePieces, whole

if TYPE_CHECKING:
    from cortex.settings import ModelSettings
    from sandbox import Displayed

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_MAX_SENT_NAME_CHARS = 64
_FINISHES: dict[str, Finish] = {"length": "length", "max_tokens": "length", "content_filter": "filter"}
# No model has a context of this many tokens; a larger number is not a count.
_MAX_TOKENS = 10**9
MAX_NAME_CHARS = 256
_BYTES_PER_TOKEN = 4
_TOKENS_PER_PICTURE = 1_500


def chat_request(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], settings: ModelSettings, *, with_usage: bool
) -> dict[str, Any]:
    """The body of the request. Settings that are not set are not sent: many endpoints know only some parameters."""
    # A model that takes no pictures has read of them in the answer of the call.
    sent = [message for message in messages if settings.images or not isinstance(message, PicturesMessage)]
    body: dict[str, Any] = {"model": settings.name, "messages": list(map(chat_message, sent))}
    if tools:
        body["tools"] = list(tools)
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.max_reply_tokens is not None:
        # OpenAI refuses the old name for its newer models; other endpoints know only the old name.
        name = "max_completion_tokens" if settings.base_url is None else "max_tokens"
        body[name] = settings.max_reply_tokens
    if settings.stream:
        body["stream"] = True
        if with_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def chat_message(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": whole(text)}
        case UserMessage(text):
            return {"role": "user", "content": whole(text)}
        case AssistantMessage(text, ()):
            return {"role": "assistant", "content": whole(text)}
        case AssistantMessage(text, calls):
            return {"role": "assistant", "content": whole(text) or None, "tool_calls": list(map(_chat_call, calls))}
        case ToolAnswer(call_id, _, text):
            return {"role": "tool", "tool_call_id": call_id, "content": whole(text)}
        case PicturesMessage(text, pictures):
            # As the user's: the answer of a tool can only be text.
            return {"role": "user", "content": [{"type": "text", "text": text}, *map(_chat_picture, pictures)]}
        case _:
            assert_never(message)


def _chat_picture(picture: Displayed) -> dict[str, Any]:
    url = f"data:{picture.mime_type};base64,{b64encode(picture.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _chat_call(call: ToolRequest) -> dict[str, Any]:
    # The model wrote name and arguments. One malformed old call would make a strict endpoint refuse every further turn.
    name = _NOT_IN_NAMES.sub("_", call.name)[:_MAX_SENT_NAME_CHARS] or "unnamed"
    arguments = whole(call.arguments_json)
    if not isinstance(parsed_arguments(arguments), dict):
        arguments = json.dumps({"malformed": arguments} if arguments.strip() else {})
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


class MalformedReply(ValueError):
    """The data is not a chat completion."""


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ReplyAssembly:
    """Takes the chunks of a stream, or one whole completion. `is_complete` once a finish reason has come."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._text: list[str] = []
        self._pieces = WholePieces()
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._usage: Usage | None = None
        self._finish: str | None = None
        self.is_full = False
        """Whether the reply exceeded `max_bytes`; the rest was left out."""

    @property
    def is_complete(self) -> bool:
        return self._finish is not None

    def add(self, chunk: object) -> str:
        """Add a chunk; return the text in it. Raises MalformedReply."""
        if not isinstance(chunk, dict):
            raise MalformedReply("a piece of it is not an object")
        self._count(chunk.get("usage"))
        choices = chunk.get("choices")
        if not choices:
            return ""  # Token counts come in a chunk of their own, and some send empty chunks as keep-alive.
        if not isinstance(choices, list) or not isinstance(choices[0], dict):
            raise MalformedReply('its "choices" are not a list of objects')
        choice = choices[0]
        part = choice.get("delta") or choice.get("message") or {}
        if not isinstance(part, dict):
            raise MalformedReply('its "delta" is not an object')
        added = self._add_text(part)
        for call in _listed(part.get("tool_calls")):
            self._add_call(call)
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            self._finish = finish
        elif "message" in choice:
            self._finish = self._finish or "stop"  # Without a stream it is complete, even without a reason.
        return added

    def end(self) -> str:
        """The text that was held back because its second half was missing. Call it at the end."""
        return self._keep(self._pieces.end())

    def reply(self, estimated_input_tokens: int) -> ModelReply:
        """The finished reply. The estimate is used for endpoints that do not report token counts."""
        calls = tuple(
            ToolRequest(call.id, whole(call.name), whole("".join(call.arguments)))
            for call in self._calls
            if call.name or call.arguments
        )
        finish = _FINISHES.get(self._finish or "", "tools" if calls else "stop")
        message = AssistantMessage("".join(self._text), calls)
        written = [message.text, *((call.name, call.arguments_json) for call in calls)]
        usage = self._usage or Usage(estimated_input_tokens, estimated_tokens(written), estimated=True)
        return ModelReply(message, usage, "length" if self.is_full else finish)

    def _add_text(self, part: dict[str, Any]) -> str:
        # The model's `refusal` is shown as its text.
        text = "".join((*_texts(part.get("content")), *_texts(part.get("refusal"))))
        return self._keep(self._pieces.add(self._bounded(text)))

    def _keep(self, text: str) -> str:
        if text:
            self._text.append(text)
        return text

    def _add_call(self, data: dict[str, Any]) -> None:
        function = data.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name = _text(data.get("id")), _text(function.get("name"))
        call = self._slot(data.get("index"), call_id, name)
        if call is None:
            self.is_full = True
            return
        call.id = call.id or self._bounded(call_id)
        # Some endpoints send the name with every piece, some in pieces. Its length is bounded: thousands of additions
        # to a long string take long.
        if name != call.name and len(call.name) < MAX_NAME_CHARS:
            call.name += self._bounded(name)
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments)
        if piece := self._bounded(_text(arguments)):
            call.arguments.append(piece)

    def _slot(self, index: object, call_id: str, name: str) -> _Call | None:
        """The call that a piece belongs to: by its index, else by its id, else the last. None if there are too many.

        A piece with a name and a new id begins a new call, whatever its index: some endpoints number all calls 0.
        """
        place = index if isinstance(index, int) and not isinstance(index, bool) else None
        if place is not None:
            known = self._by_index.get(place)
        elif call_id:
            known = next((call for call in self._calls if call.id == call_id), None)
        else:
            known = self._calls[-1] if self._calls and not name else None
        if known is not None and not (name and call_id and known.id and known.id != call_id):
            return known
        if len(self._calls) >= MAX_CALLS:
            return None
        call = _Call()
        self._calls.append(call)
        if place is not None:
            self._by_index[place] = call
        return call

    def _bounded(self, text: str) -> str:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size <= self._left:
            self._left -= size
            return text
        self.is_full = True
        kept = text.encode("utf-8", "surrogatepass")[: self._left].decode("utf-8", "ignore")
        self._left = 0
        return kept

    def _count(self, usage: object) -> None:
        match usage:
            case {"prompt_tokens": int(given), "completion_tokens": int(written)}:
                if 0 <= given <= _MAX_TOKENS and 0 <= written <= _MAX_TOKENS:
                    self._usage = Usage(given, written)


def estimated_tokens(value: object) -> int:
    """An estimate from the size of the JSON, rather too high than too low. A picture counts as a picture: its base64 is
    not read as text."""
    pictures = 0

    def without_pictures(part: Any) -> Any:
        nonlocal pictures
        match part:
            case {"type": "image_url"}:
                pictures += 1
                return None
            case {"content": list(content)}:
                return {**part, "content": list(map(without_pictures, content))}
            case list():
                return list(map(without_pictures, part))
        return part

    text = json.dumps(without_pictures(value))
    return -(-len(text) // _BYTES_PER_TOKEN) + pictures * _TOKENS_PER_PICTURE


def _listed(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _texts(content: object) -> Iterator[str]:
    """The texts in a content: it is a string, or a list of parts of which some have text."""
    if isinstance(content, str):
        yield content
    for part in _listed(content):
        if isinstance(text := part.get("text"), str):
            yield text


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class EventTooLong(ValueError):
    """A single event is longer than a whole reply may be."""


class EventStream:
    """Splits bytes, which may be cut anywhere, into server-sent events, and returns the data of each complete one."""

    def __init__(self, max_event_bytes: int) -> None:
        self._max = max_event_bytes
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Raises EventTooLong."""
        self._rest += chunk
        lines: list[bytearray] = []
        if b"\n" in chunk:  # Otherwise a long line would be scanned again with each of its pieces.
            *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) > self._max:
            raise EventTooLong(f"an event has more than {self._max} bytes")
        return [event for line in lines if (event := self._line(bytes(line.removesuffix(b"\r")))) is not None]

    def end(self) -> list[bytes]:
        """The last event at the end of the connection: some endpoints leave out the final empty line."""
        return [event for event in (self._line(bytes(self._rest)), self._line(b"")) if event is not None]

    def _line(self, line: bytes) -> bytes | None:
        if not line:
            event, self._data, self._size = b"\n".join(self._data), [], 0
            return event or None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(line)  # The whole line: endless empty values would make an endless list.
            if self._size > self._max:
                raise EventTooLong(f"an event has more than {self._max} bytes")
        return None

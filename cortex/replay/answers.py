"""Answers the calls and requests of a replayed run with what is on record. Nothing real is called.

Each answer is given once. A call that is not on record is noted and fails, as a function may at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import anyio
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from cortex.audit import digest
from sandbox import (
    Exchange,
    HostRule,
    NetworkPolicy,
    ReadyJson,
    Replay,
    ReplayedRun,
    ToolDeclaration,
    ToolError,
)

from .what_if import AS_IT_WAS, Judged, WhatIf, policy_for

if TYPE_CHECKING:
    from cortex.redaction import Redactor
    from cortex.runs import FetchDetails, RecordedCall, RunDetails, RunRecording
    from sandbox import SandboxSettings

MAX_NOTED = 100
_MAX_SHOWN = 300
_TOKEN = re.compile(r"\[([A-Z][A-Z0-9_]{1,40})_\d{1,9}\]")


def without_numbers(text: str) -> str:
    """The text with its tokens without numbers: in another run, the same value may have another number."""
    return _TOKEN.sub(r"[\1]", text)


class RecordedAnswers:
    """The functions, the store and the network of one replay."""

    def __init__(
        self,
        details: RunDetails,
        recording: RunRecording | None,
        redactor: Redactor,
        settings: SandboxSettings,
        what_if: WhatIf = AS_IT_WAS,
    ) -> None:
        self._details = details
        self._recording = recording
        self._redactor = redactor
        self._settings = settings
        self._what_if = what_if
        calls = () if recording is None else recording.calls
        self._tools = [call for call in calls if call.kind == "tool"]
        self._stored = [call for call in calls if call.kind == "store"]
        self._servers = {} if recording is None else {tool.name: tool.server for tool in recording.tools}
        self._asked = {call.name for call in details.calls if call.asked_ms is not None}
        self.misfits: list[str] = []
        """Calls and requests that are not on record, the first of them, as sentences."""
        self.judged: list[Judged] = []

    @property
    def has_store(self) -> bool:
        return bool(self._stored) or self._details.conversation is not None

    def declarations(self) -> Sequence[ToolDeclaration]:
        if self._recording is None:
            return [ToolDeclaration(name) for name in self._details.tools_lent]
        return [
            ToolDeclaration(
                tool.name, input_schema=tool.input_schema or {}, server=tool.server, tool=tool.tool, places=tool.places
            )
            for tool in self._recording.tools
        ]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        found = self._taken(self._tools, name, arguments)
        policy = policy_for(self._what_if, name, self._servers.get(name), was_asked=name in self._asked)
        if policy != "allow" and len(self.judged) < MAX_NOTED:
            self.judged.append(Judged(name, policy))
        if policy == "deny":
            raise ToolError(f"the owner does not allow {name}", code="denied")
        if name in self._what_if.failing:
            raise ToolError(f"{name} fails in this replay", code="tool_error")
        if found is None:
            self._unrecorded(self._tools, name, arguments)
        return await self._answer(found)

    async def _answer(self, call: RecordedCall) -> Any:
        if call.ok:
            if not call.is_whole:
                self._note(f"The answer of {call.name} had no room in the recording")
                raise ToolError(f"The recorded answer of {call.name} had no room", code="tool_error")
            return ReadyJson(to_json(call.result), call.bytes_at)
        if call.ms is None or call.code in {"timeout", "cancelled"}:
            limit_ms = self._settings.tool_timeout_ms
            if call.ms is not None and call.ms < limit_ms:
                await anyio.sleep_forever()  # until the clock of the run ends it, as it did
            message = f'Tool "{call.name}" gave no answer within {limit_ms} ms'
            raise ToolError(message, code="timeout", retryable=True)
        message = call.error or "it failed"
        if call.code == "internal" and message.isidentifier():  # the class of an exception is all that was told
            message = f'Tool "{call.name}" failed with {message}'
        raise ToolError(message, code=call.code or "tool_error", retryable=call.retryable)

    async def get(self, key: str) -> bytes | None:
        value = await self._from_store("get", [key])
        return None if value is None else to_json(value)

    async def set(self, key: str, value: bytes) -> None:  # noqa: ARG002 - the value is not on record
        await self._from_store("set", [key])

    async def delete(self, key: str) -> bool:
        return bool(await self._from_store("delete", [key]))

    async def keys(self) -> Sequence[str]:
        found = await self._from_store("keys", [])
        return [str(key) for key in found] if isinstance(found, list) else []

    async def _from_store(self, name: str, arguments: list[str]) -> Any:
        found = self._taken(self._stored, name, arguments)
        if found is None:
            self._unrecorded(self._stored, f"store.{name}", arguments, name)
        if not found.ok:
            raise ToolError(found.error or "it failed", code=found.code or "tool_error", retryable=found.retryable)
        if not found.is_whole:
            self._note(f"The answer of store.{name} had no room in the recording")
        return found.result

    def network(self) -> NetworkPolicy:
        """A policy that allows the origins of the record, as they were allowed then. Only the record answers."""
        given = self._settings.network
        return NetworkPolicy(
            allow=tuple(_rules(self._addresses())),
            max_requests=given.max_requests,
            max_response_bytes=max(given.max_response_bytes, NetworkPolicy().max_response_bytes),
            replay=_RecordedNetwork(self._exchanges(), self._details.requests, self),
        )

    def _exchanges(self) -> Sequence[Exchange]:
        return () if self._recording is None else self._recording.exchanges

    def _addresses(self) -> Iterator[str]:
        yield from (exchange.url for exchange in self._exchanges())
        yield from (request.url for request in self._details.requests)

    def shown(self, text: str) -> str:
        """The text as it would be on record, but for numbers of tokens."""
        return without_numbers(self._redactor.text(text))

    def _taken(self, left: list[RecordedCall], name: str, arguments: Any) -> RecordedCall | None:
        """The next recorded call with these arguments; it is used up."""
        named = [call for call in left if call.name == name]
        wanted = _text(arguments)
        found = next((call for call in named if call.is_whole and _text(call.arguments) == wanted), None)
        if found is None and named:
            hashed, shown = digest(arguments), self.shown(wanted)
            found = next(
                (
                    call
                    for call in named
                    if call.arguments_hash == hashed
                    or (call.is_whole and without_numbers(_text(call.arguments)) == shown)
                ),
                # What had no room may be this one.
                next((call for call in named if not call.is_whole), None),
            )
        if found is not None:
            left.remove(found)
        return found

    def _unrecorded(self, left: list[RecordedCall], what: str, arguments: Any, name: str | None = None) -> NoReturn:
        given = self.shown(_text(arguments))[:_MAX_SHOWN]
        next_ = next((call for call in left if call.name == (name or what)), None)
        instead = "" if next_ is None else f"; on record it was called with {_text(next_.arguments)[:_MAX_SHOWN]}"
        self._note(f"{what} was called with {given}, which is not on record{instead}")
        raise ToolError(f"Nothing was recorded for this call of {what}", code="tool_error")

    def _note(self, sentence: str) -> None:
        if len(self.misfits) < MAX_NOTED:
            self.misfits.append(sentence)

    def unrecorded_request(self, method: str, url: str) -> ToolError:
        self._note(f"{method} {self.shown(url)[:_MAX_SHOWN]} was asked for, which is not on record")
        return ToolError("Nothing was recorded for this request", code="network")

    def cut_request(self, method: str, url: str) -> ToolError:
        self._note(f"The answer to {method} {self.shown(url)[:_MAX_SHOWN]} had no room in the recording")
        return ToolError("The recorded answer to this request had no room", code="network")


class _RecordedNetwork(Replay):
    def __init__(
        self, exchanges: Sequence[Exchange], requests: Sequence[FetchDetails], around: RecordedAnswers
    ) -> None:
        super().__init__(())
        self._recorded = exchanges
        self._requests = requests
        self._around = around

    def begin(self) -> ReplayedRun:
        return _RecordedRequests(self._recorded, self._requests, self._around)


class _RecordedRequests(ReplayedRun):
    """The answers of one run, and its refusals: each once."""

    def __init__(
        self, exchanges: Sequence[Exchange], requests: Sequence[FetchDetails], around: RecordedAnswers
    ) -> None:
        super().__init__(())
        self._exchanges = [*exchanges]
        self._refused = [one for one in requests if one.refused is not None]
        self._around = around

    def answer(self, method: str, url: str, body_digest: str | None) -> Exchange:
        shown = self._around.shown(url)
        alike = [
            one
            for one in self._exchanges
            if one.method == method and (one.url == url or without_numbers(one.url) == shown)
        ]
        # A body that held a secret has another digest now.
        found = next((one for one in alike if one.request_body_sha256 == body_digest), next(iter(alike), None))
        if found is not None:
            self._exchanges.remove(found)
            if found.truncated:
                raise self._around.cut_request(method, url)
            return found
        path = without_numbers(shown.partition("#")[0].partition("?")[0])
        refused = next(
            (one for one in self._refused if one.method == method and without_numbers(one.url) == path), None
        )
        if refused is None or refused.refused is None:
            raise self._around.unrecorded_request(method, url)
        self._refused.remove(refused)
        code, _, message = refused.refused.partition(": ")
        raise ToolError(message or "it was refused", code=code or "network")


def _rules(addresses: Iterator[str]) -> Iterator[HostRule]:
    known: set[tuple[str, int | None, bool]] = set()
    for address in addresses:
        try:
            parts = urlsplit(address)
            key = (parts.hostname or "", parts.port, parts.scheme == "http")
            if key in known:
                continue
            known.add(key)
            yield HostRule(host=key[0], ports=None if key[1] is None else (key[1],), http=key[2], private=True)
        except (ValueError, ValidationError):
            continue  # a secret was taken out of the address, or it was none


def _text(value: Any) -> str:
    try:
        return to_json(_sorted(value)).decode(errors="replace")
    except (PydanticSerializationError, ValueError, RecursionError):
        return "?"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=str)}
    return [_sorted(one) for one in value] if isinstance(value, list | tuple) else value

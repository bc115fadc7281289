"""Records the input of recent executions, so that quarantine can replay it. Capped in size, age and count."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from sandbox import Exchange, JsonLimits, Work, bounded_json

from ..contracts import DAY_S, HabitSettings, Json, Recording, Storage, ToolExchange
from .secret_texts import without_keys, without_secret_values, without_secrets

PREFIX = "recordings/"
# Lists every recording with its code hash and time, so that finding one does not mean reading all.
INDEX = f"{PREFIX}index"
# Limits for one part of a recording: a part with more values is left out, like one that is too large.
LIMITS = JsonLimits(containers=20_000, values=50_000)


class Recordings:
    """All methods may be called from any thread. They block for the disk, and raise StorageError when it fails."""

    def __init__(self, storage: Storage, settings: HabitSettings, *, now: Callable[[], float] = time.time) -> None:
        self._storage = storage
        self._settings = settings
        self._now = now

    def keep(self, recording: Recording) -> None:
        """Store as much of the recording as fits, with secrets redacted; nothing when recording is off."""
        if not (self._settings.enabled and self._settings.record):
            return
        key = f"{PREFIX}{secrets.token_hex(12)}"
        self._storage.write(key, _fitting(recording, self._settings.max_recording_bytes))
        self._trim(key, recording)

    def of(self, code_hashes: Sequence[str], most: int, *, after: float = 0.0) -> list[Recording]:
        """At most `most` recordings of these scripts that were made after a time, the newest first."""
        wanted = set(code_hashes)
        index = self._storage.read(INDEX)
        entries = _entries(index.data if index is not None else None)
        found: list[Recording] = []
        for entry in sorted(entries, key=lambda entry: -entry["at"]):
            is_new = entry["at"] >= self._oldest() and entry["at"] > after
            if entry["codeHash"] in wanted and is_new and len(found) < most:
                document = self._storage.read(PREFIX + entry["id"])
                recording = None if document is None else _recording(document.data)
                if recording is not None:
                    found.append(recording)
        return found

    def _trim(self, key: str, recording: Recording) -> None:
        """Add the new one to the index, and delete those that are too old or too many."""
        gone: list[str] = []
        lost = self._found() if self._storage.read(INDEX) is None else []
        new = {"id": key.removeprefix(PREFIX), "codeHash": recording.code_hash, "at": recording.at}

        def change(data: Json | None) -> Json:
            before = _entries(data) if data is not None else lost
            entries = [*(one for one in before if one["id"] != new["id"]), new]
            kept = sorted((one for one in entries if one["at"] >= self._oldest()), key=lambda one: one["at"])
            kept = kept[-self._settings.max_recordings :]
            gone[:] = [one["id"] for one in entries if one not in kept]
            return {"format": 1, "recordings": kept}

        self._storage.update(INDEX, change)
        for name in gone:
            self._storage.delete(PREFIX + name)

    def _found(self) -> list[Json]:
        """Rebuild the index from the documents, after it was lost."""
        return [
            {"id": document.key.removeprefix(PREFIX), "codeHash": recording.code_hash, "at": recording.at}
            for document in self._storage.read_all(PREFIX)
            if (recording := _recording(document.data)) is not None
        ]

    def _oldest(self) -> float:
        return self._now() - self._settings.recording_days * DAY_S


def _entries(data: Json | None) -> list[Json]:
    try:
        return [
            {"id": str(one["id"]), "codeHash": str(one["codeHash"]), "at": float(one["at"])}
            for one in (data or {}).get("recordings", [])
        ]
    except (KeyError, TypeError, ValueError):
        return []


_WORK = ("cpu_ms", "fetches", "fetched_bytes", "tool_calls")


def _fitting(recording: Recording, max_bytes: int) -> Json:
    """The recording as JSON of at most `max_bytes`. Parts are added in order (context, code, tool calls, exchanges);
    those that do not fit are left out and counted."""
    data: Json = {
        "format": 1,
        "codeHash": recording.code_hash,
        "at": recording.at,
        "context": None,
        "code": "",
        "toolCalls": [],
        "exchanges": [],
        "leftOut": 0,
        "returns": recording.returns,
        "work": None if recording.work is None else {name: getattr(recording.work, name) for name in _WORK},
    }
    room = max_bytes - len(to_json(data))
    for place, part in _parts(recording):
        # The size is checked before redaction, too: searching megabytes for secrets takes seconds, for a part that is
        # not kept anyway.
        text = None if _json(part.as_it_was, room) is None else _json(part.cleaned(), room)
        if text is None:
            data["leftOut"] += 1
            continue
        room -= len(text) + 1
        value = from_json(text)
        if place in ("context", "code"):
            data[place] = value
        else:
            data[place].append(value)
    return data


class _Part(NamedTuple):
    as_it_was: Any
    cleaned: Callable[[], Any]


def _parts(recording: Recording) -> Iterator[tuple[str, _Part]]:
    if recording.context is not None:
        yield "context", _Part(recording.context, lambda: without_secret_values(recording.context))
    if recording.code:
        # Tied to the run that is recorded: with another wording of the habit the run would be another one.
        yield "code", _Part(recording.code, lambda: without_keys(recording.code))
    for call in recording.tool_calls:
        yield "toolCalls", _Part([call.arguments, call.result, call.error], partial(_clean_call, call))
    for exchange in recording.exchanges:
        # The recorder keeps only as many of these as there is room for.
        yield "exchanges", _Part(None, partial(_clean_exchange, exchange))


def _clean_call(call: ToolExchange) -> Json:
    return {
        "name": call.name,
        "arguments": without_secret_values(call.arguments),
        "result": without_secret_values(call.result),
        "error": None if call.error is None else without_secrets(call.error),
    }


def _clean_exchange(exchange: Exchange) -> Json:
    return _clean(exchange).model_dump(mode="json")


def _clean(exchange: Exchange) -> Exchange:
    """Redact what looks like a secret. The broker has already removed the secrets that it knows."""
    try:
        # A truncated body is of no use, but the fact that there was an answer is.
        body = b"" if exchange.truncated else without_secrets(exchange.body.decode()).encode()
    except UnicodeDecodeError:
        body = exchange.body
    return exchange.model_copy(
        update={
            "url": without_secrets(exchange.url),
            "request_headers": _headers(exchange.request_headers),
            "headers": _headers(exchange.headers),
            "body": body,
        }
    )


def _headers(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(without_secret_values({name: value}).popitem() for name, value in headers)


def _json(part: Any, room: int) -> bytes | None:
    """The part as JSON; None if it is too large, or is not JSON and so could not be replayed."""
    try:
        text = to_json(part)
        if len(text) > room:
            return None
        bounded_json(text, LIMITS)
        return text
    except (PydanticSerializationError, ValueError, RecursionError):
        return None


def _schema(found: Any) -> Json | None:
    return found if isinstance(found, dict) else None


def _work(found: Any) -> Work | None:
    """What a run took; None in documents that were written before it was kept. Raises TypeError and ValueError."""
    if found is None:
        return None
    numbers = {name: found[name] for name in _WORK}
    if not all(isinstance(number, int | float) and 0 <= number < 1e12 for number in numbers.values()):
        raise ValueError("not the work of a run")
    return Work(**numbers)


def _recording(data: Json) -> Recording | None:
    """Parse a document; None if it is not a recording: another version or a person may have written it."""
    try:
        return Recording(
            code_hash=str(data["codeHash"]),
            at=float(data["at"]),
            context=data["context"],
            code=str(data.get("code", "")),
            exchanges=tuple(Exchange.model_validate_json(to_json(one)) for one in data["exchanges"]),
            tool_calls=tuple(
                ToolExchange(str(one["name"]), dict(one["arguments"]), one["result"], one["error"])
                for one in data["toolCalls"]
            ),
            returns=_schema(data.get("returns")),
            work=_work(data.get("work")),
        )
    except (KeyError, TypeError, ValueError, ValidationError):
        return None

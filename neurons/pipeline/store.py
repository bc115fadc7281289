"""Stores neurons as documents: checked when read, and changed without losing what another process wrote meanwhile."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from pydantic import ValidationError

from ..contracts import Conflict, Document, Json, Neuron, NoSuchNeuron, Status, Storage, StorageError, is_key
from .lifecycle import Event, changed

log = logging.getLogger("motor_cortex")

FOLDER = "neurons"
FORMAT = 1


class NeuronStore:
    """All methods may be called from any thread and without an event loop."""

    def __init__(self, storage: Storage, *, now: Callable[[], float] = time.time) -> None:
        self._storage = storage
        self._now = now
        self._newer: set[str] = set()

    def may_speak(self, source: str) -> bool:
        """Whether what was emitted by this neuron may still be said. True for a source that is no neuron."""
        document = self._storage.read(f"{FOLDER}/{source}") if is_key(f"{FOLDER}/{source}") else None
        return document is None or document.data.get("status") in {Status.TRIAL.value, Status.ACTIVE.value}

    def load_all(self) -> list[Neuron]:
        """All readable neurons, sorted by id. A document that is not a neuron is set aside and reported; one written by
        a newer version is left alone, and reported once."""
        return [neuron for document in self._storage.read_all(f"{FOLDER}/") if (neuron := self._read(document))]

    def get(self, name: str) -> Neuron:
        """Find a neuron by its id, its exact name, or a unique beginning of its id. Raises NoSuchNeuron."""
        if (neuron := self._by_id(name)) is not None:
            return neuron
        neurons = self.load_all()
        found = [neuron for neuron in neurons if neuron.name == name]
        found = found or [neuron for neuron in neurons if name and neuron.id.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(neuron.id for neuron in found[:5])
            raise NoSuchNeuron(f'Cannot tell which neuron "{name}" is: {several}')
        raise NoSuchNeuron(f'There is no neuron "{name}"')

    def persist(self, neuron: Neuron, *, new: bool = False) -> Neuron:
        """Write the neuron, replacing what was there; durable when it returns. With `new`, raises Conflict if it
        exists."""

        def written(data: Json | None) -> Json:
            if data is not None and new:
                raise Conflict(f'Cannot make neuron "{neuron.id}": there is one of this id')
            if data is not None and _is_newer(data):
                raise _too_new(neuron.id)
            return as_json(neuron)

        self._storage.update(_key(neuron.id), written)
        return neuron

    def change(self, neuron_id: str, change: Callable[[Neuron], Neuron], *, through: bool = True) -> Neuron:
        """Read, change and write in one step, atomic among all processes. A neuron that `change` returns unchanged is
        not written; if `change` raises, nothing is written. Raises NoSuchNeuron.

        With `through=False` the change is applied at once for this process, and again at the flush to what is then on
        disk.
        """
        result: list[Neuron] = []

        def written(data: Json | None) -> Json | None:
            if data is None:
                raise NoSuchNeuron(f'There is no neuron "{neuron_id}"')
            before = _parsed(neuron_id, data)
            after = change(before)
            result[:] = [after]
            return None if after is before or after == before else as_json(after)

        self._storage.update(_key(neuron_id), written, through=through)
        return result[0]

    def disable(self, name: str, reason: str = "", by: str = "owner") -> Neuron:
        """Disable a neuron; durable when it returns. A disabled one stays as it is. Raises NoSuchNeuron.

        For emergencies: nothing is recorded in the audit, and waking it again needs the key of the home.
        """

        def asleep(neuron: Neuron) -> Neuron:
            if neuron.status is Status.DISABLED:
                return neuron
            return changed(neuron, Event.DISABLE, at=self._now(), by=by, reason=reason)

        return self.change(self.get(name).id, asleep)

    def alone(self) -> AbstractContextManager[None]:
        """A lock among all processes, for decisions that look at several neurons."""
        return self._storage.alone(FOLDER)

    def stamp(self) -> object:
        """A cheap value that changes once any process has written a neuron."""
        return self._storage.stamp(FOLDER)

    def flush(self) -> None:
        self._storage.flush()

    def _by_id(self, neuron_id: str) -> Neuron | None:
        try:
            document = self._storage.read(_key(neuron_id))
        except NoSuchNeuron:
            return None
        if document is not None and _is_newer(document.data):
            raise _too_new(neuron_id)
        return self._read(document) if document is not None else None

    def _read(self, document: Document) -> Neuron | None:
        neuron_id = document.key.partition("/")[2]
        if _is_newer(document.data):
            if neuron_id not in self._newer:
                self._newer.add(neuron_id)
                log.warning("%s", _too_new(neuron_id))
            return None
        try:
            return _parsed(neuron_id, document.data)
        except StorageError as error:
            self._storage.set_aside(document.key, str(error), revision=document.revision)
            return None


def as_json(neuron: Neuron) -> Json:
    """The neuron as JSON, as in its document."""
    return neuron.model_dump(mode="json", by_alias=True)


def _parsed(neuron_id: str, data: Json) -> Neuron:
    if _is_newer(data):
        raise _too_new(neuron_id)
    try:
        neuron = Neuron.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise StorageError(f"it is not a neuron ({where}: {first['msg']})") from error
    if neuron.id != neuron_id:
        # A copied file would be a second neuron with the approval of the first.
        raise StorageError(f'it is not a neuron (its id is "{neuron.id}")')
    return neuron


def _is_newer(data: Json) -> bool:
    found = data.get("format")
    return isinstance(found, int) and found > FORMAT


def _too_new(neuron_id: str) -> StorageError:
    return StorageError(f'Cannot use neuron "{neuron_id}": a newer version of this program has written it')


def _key(neuron_id: str) -> str:
    """The storage key of a neuron. Raises NoSuchNeuron for an invalid id: people type names, too."""
    if not is_key(f"{FOLDER}/{neuron_id}"):
        raise NoSuchNeuron(f'There is no neuron "{neuron_id}"')
    return f"{FOLDER}/{neuron_id}"

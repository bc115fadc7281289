"""Neurons as documents: read and checked, and changed without losing what another process has changed meanwhile."""

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
    """All of it may be called from any thread and without an event loop."""

    def __init__(self, storage: Storage, *, now: Callable[[], float] = time.time) -> None:
        self._storage = storage
        self._now = now
        self._newer: set[str] = set()

    def load_all(self) -> list[Neuron]:
        """All that can be read, by id. What is not a neuron is set aside and reported; what a newer version wrote is
        left where it is, and reported once."""
        return [neuron for document in self._storage.read_all(f"{FOLDER}/") if (neuron := self._read(document))]

    def get(self, name: str) -> Neuron:
        """By its id, its exact name, or the beginning of its id if that is no other's. Raises NoSuchNeuron."""
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
        """Durable when it returns, whatever there was before. With `new` raises Conflict when there was anything."""

        def written(data: Json | None) -> Json:
            if data is not None and new:
                raise Conflict(f'Cannot make neuron "{neuron.id}": there is one of this id')
            if data is not None and _is_newer(data):
                raise _too_new(neuron.id)
            return as_json(neuron)

        self._storage.update(_key(neuron.id), written)
        return neuron

    def change(self, neuron_id: str, change: Callable[[Neuron], Neuron], *, through: bool = True) -> Neuron:
        """Read, change and write as one step that no other process can come between. What the change returns unchanged
        is not written, and what it raises changes nothing. Raises NoSuchNeuron.

        Behind (`through=False`) it is applied at once for this process, and again to what is on disk by the time that
        it gets there.
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
        """Durable when it returns. One that is disabled already stays as it is. Raises NoSuchNeuron.

        For when nothing else works: nothing is recorded, and only who has the key of the home can wake it again.
        """

        def asleep(neuron: Neuron) -> Neuron:
            if neuron.status is Status.DISABLED:
                return neuron
            return changed(neuron, Event.DISABLE, at=self._now(), by=by, reason=reason)

        return self.change(self.get(name).id, asleep)

    def alone(self) -> AbstractContextManager[None]:
        """One at a time among all processes: for decisions that look at several neurons."""
        return self._storage.alone(FOLDER)

    def stamp(self) -> object:
        """Something cheap that is not equal to what it was, once anybody has written a neuron."""
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
    """As it is in the document."""
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
        # A copy of a file would be a second neuron with the first one's approval.
        raise StorageError(f'it is not a neuron (its id is "{neuron.id}")')
    return neuron


def _is_newer(data: Json) -> bool:
    found = data.get("format")
    return isinstance(found, int) and found > FORMAT


def _too_new(neuron_id: str) -> StorageError:
    return StorageError(f'Cannot use neuron "{neuron_id}": a newer version of this program has written it')


def _key(neuron_id: str) -> str:
    """Raises NoSuchNeuron for what cannot be an id: people type names, too."""
    if not is_key(f"{FOLDER}/{neuron_id}"):
        raise NoSuchNeuron(f'There is no neuron "{neuron_id}"')
    return f"{FOLDER}/{neuron_id}"

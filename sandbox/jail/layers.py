"""The layers of the operating system's wall, by name, and which of them hold on this machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

DENO = "/deno"
"""The path of its binary as the process sees it; behind the layer `root` this is its real path."""


class Layer(StrEnum):
    """A layer of the wall behind Deno's own permissions. Each holds without the others."""

    SESSION = "session"
    """A session without a terminal, apart from the host, and a process group of its own: one signal kills the process
    and everything that it started."""
    PARENT_DEATH = "parent_death"
    """The kernel kills the process when the host is gone."""
    NO_NEW_PRIVS = "no_new_privs"
    """No program that the process starts can have more rights than the process."""
    LIMITS = "limits"
    """Limits on CPU time and open files; no file content can be written; no core dump."""
    MEMORY = "memory"
    """An exact limit on memory of every kind."""
    LANDLOCK = "landlock"
    """Access only to the files that Deno needs to start; no TCP; no signals and sockets to other processes."""
    SECCOMP = "seccomp"
    """Only the system calls that Deno needs: no sockets, no processes, no changes to files."""
    NAMESPACES = "namespaces"
    """No rights over the machine, and a network without interfaces."""
    ROOT = "root"
    """A file system that contains nothing but Deno."""


_CONFINING = {Layer.LANDLOCK, Layer.SECCOMP, Layer.NAMESPACES, Layer.ROOT}
_NOTHING: Mapping[Layer, str] = MappingProxyType({})


class Wall(NamedTuple):
    """The layers that hold, and why the others do not."""

    held: tuple[Layer, ...] = ()
    absent: Mapping[Layer, str] = _NOTHING
    """The layers that this machine does not support, each with the reason."""
    broken: Mapping[Layer, str] = _NOTHING
    """The layers that it supports but Deno does not run behind, each with the reason."""

    @property
    def level(self) -> str:
        """In one word, "full", "partial" or "none": "none" if no layer would stop code that is past Deno's
        permissions."""
        if not _CONFINING & set(self.held):
            return "none"
        return "full" if set(self.held) == set(Layer) else "partial"

    def unmet(self, required: Collection[Layer] | None) -> dict[Layer, str]:
        """The required layers that do not hold, each with its reason: while there are any, Deno must not start.

        `required=None` requires all that this machine supports: an absent layer is tolerated, a broken one is not.
        """
        if required is None:
            return dict(self.broken)
        reasons = {**self.absent, **self.broken}
        return {layer: reasons.get(layer, "it was not asked for") for layer in required if layer not in self.held}

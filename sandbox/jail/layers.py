"""The layers of the wall by name, and what is known of them on this machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

DENO = "/deno"
"""What the process believes that its binary is called; behind `root` that is where it is."""


class Layer(StrEnum):
    """What stands behind Deno's own permissions. Each holds without the others."""

    SESSION = "session"
    """A session without a terminal, apart from the host, and a process group of its own: one signal ends all that it
    started."""
    PARENT_DEATH = "parent_death"
    """The kernel kills it when the host is gone."""
    NO_NEW_PRIVS = "no_new_privs"
    """No program that it could start may have more rights than it."""
    LIMITS = "limits"
    """Processor time, open files, no file content at all, no core dump."""
    MEMORY = "memory"
    """An exact limit on its memory, of whatever kind."""
    LANDLOCK = "landlock"
    """No file but those that Deno needs to start; no TCP; no signals and sockets to others."""
    SECCOMP = "seccomp"
    """Only the system calls that Deno needs: no sockets, no processes, no changes to files."""
    NAMESPACES = "namespaces"
    """No rights over the machine, and a network without interfaces."""
    ROOT = "root"
    """A file system in which there is nothing but Deno."""


_CONFINING = {Layer.LANDLOCK, Layer.SECCOMP, Layer.NAMESPACES, Layer.ROOT}
_NOTHING: Mapping[Layer, str] = MappingProxyType({})


class Wall(NamedTuple):
    """What holds, and why the rest does not."""

    held: tuple[Layer, ...] = ()
    absent: Mapping[Layer, str] = _NOTHING
    """The layers that this machine does not give."""
    broken: Mapping[Layer, str] = _NOTHING
    """The layers that it gives, and that Deno does not run behind."""

    @property
    def level(self) -> str:
        """In one word: all of it, a part of it, or nothing that would stop code which is past Deno's permissions."""
        if not _CONFINING & set(self.held):
            return "none"
        return "full" if set(self.held) == set(Layer) else "partial"

    def unmet(self, required: Collection[Layer] | None) -> dict[Layer, str]:
        """What stands against a start: the layers that have to hold and do not, each with its reason.

        None requires what the machine can give: what is absent is only missed, what is broken is not gone without.
        """
        if required is None:
            return dict(self.broken)
        reasons = {**self.absent, **self.broken}
        return {layer: reasons.get(layer, "it was not asked for") for layer in required if layer not in self.held}

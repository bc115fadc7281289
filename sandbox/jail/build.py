"""Builds the wall of one launcher: prepares it once, then applies it to each process that the launcher starts."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

from . import kernel, landlock, libraries, namespaces, seccomp
from .layers import DENO, Layer, Wall

# Enough for Deno, its workers and its pipes.
MAX_OPEN_FILES = 256
# Leaves it a third of the CPU time of a program with the usual nice value. A higher value would starve a run while
# other programs are busy, and its timeout goes on.
NICE = 5


class LayerFailed(Exception):
    """A layer that changes the launcher's own process failed. The launcher is unusable: start another without it."""

    def __init__(self, layer: Layer, reason: str) -> None:
        super().__init__(reason)
        self.layer = layer


class Order(NamedTuple):
    """What to start, and behind which layers and limits."""

    binary: str
    argv: list[str]
    """The arguments of the process. The first is its name, which is not the path of the binary."""
    environment: dict[str, str]
    layers: frozenset[Layer]
    cpu_seconds: int

    @classmethod
    def of(cls, message: dict[str, Any]) -> Order:
        layers = frozenset(Layer(name) for name in message["layers"])
        return cls(message["binary"], message["argv"], message["environment"], layers, message["cpu_seconds"])


class Jail:
    """Prepares everything that can be prepared before a process is started in the jail."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._absent: dict[Layer, str] = {}
        deno = order.binary
        files = self._files(deno)
        if self._holds(Layer.NAMESPACES):
            self._enter_namespaces(deno, files)
        elif Layer.ROOT in order.layers:
            self._absent[Layer.ROOT] = "it needs namespaces"
        if self._holds(Layer.NO_NEW_PRIVS):
            # If the host runs as root or with capabilities, pass none of them on to programs.
            kernel.empty_bounding_set()
        self._path = DENO if self._holds(Layer.ROOT) else deno
        self._ruleset = self._make_ruleset([self._path, *files]) if self._holds(Layer.LANDLOCK) else None
        self._filter = self._make_filter() if self._holds(Layer.SECCOMP) else None
        search_path = libraries.search_path(files, os.uname().machine)
        self._environment = {**order.environment, **({"LD_LIBRARY_PATH": search_path} if search_path else {})}
        self._c_argv = kernel.strings(order.argv)
        self._c_environment = kernel.strings([f"{name}={value}" for name, value in self._environment.items()])

    @property
    def wall(self) -> Wall:
        held = tuple(layer for layer in Layer if self._holds(layer))
        return Wall(held, dict(self._absent))

    def become_deno(self, descriptors: list[int], launcher: int, proc: int) -> NoReturn:
        """Call in a new process: give up all rights, then exec Deno. A failure is a line on its stderr. `proc` is a
        descriptor of /proc, which has no path any more behind the new root."""
        try:
            self._give_way(proc)
            self._give_up_ties(launcher)
            self._give_up_resources()
            for target, source in enumerate(descriptors):
                os.dup2(source, target)
            os.chdir("/")
            if self._ruleset is not None:
                landlock.restrict(self._ruleset)
            os.closerange(3, 2**31 - 1)
            if self._filter is None:
                os.execve(self._path, self._order.argv, self._environment)  # noqa: S606 - this is the one place
            address = seccomp.place_path(self._path)
            self._filter.apply(address)
            kernel.execve_at(address, self._c_argv, self._c_environment)
        except BaseException as error:  # noqa: BLE001 - whatever the error, the forked launcher must not go on
            with contextlib.suppress(OSError):
                os.write(2, f"Cannot start Deno: {error}\n".encode())
        os._exit(127)

    def _give_way(self, proc: int) -> None:
        """Lower this process's priority: the launcher and the kill command get the processors first, and when the
        machine is out of memory, the kernel kills this process before any other. Not a layer of the wall: it protects
        the host from a shortage, not from the code."""
        os.nice(NICE)
        with contextlib.suppress(OSError):
            adjustment = os.open("self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
            os.write(adjustment, b"1000")
            os.close(adjustment)

    def _give_up_ties(self, launcher: int) -> None:
        if self._holds(Layer.SESSION):
            # The session is the launcher's, which has no terminal. A session for each process would also mean a share
            # of the processors for each (autogroup): a dozen busy loops would leave the kill command a tenth of one.
            os.setpgid(0, 0)
        if self._holds(Layer.PARENT_DEATH):
            kernel.prctl("parent death signal", kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != launcher:  # the launcher died before the line above, so no signal will come
                os._exit(127)
        if self._holds(Layer.NO_NEW_PRIVS) or self._ruleset is not None or self._filter is not None:
            kernel.prctl("no_new_privs", kernel.PR_SET_NO_NEW_PRIVS, 1)

    def _give_up_resources(self) -> None:
        if not self._holds(Layer.LIMITS):
            return
        # One byte is too little for a core file, and the only value at which the kernel starts no core dump helper.
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
        # Deno's own SQLite would spill to disk whatever the permissions say. A write then fails; it does not kill the
        # process, because Python ignores SIGXFSZ and Deno inherits that.
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        _lower(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
        # The host's timeout ends a run long before. This ends a process whose host no longer can.
        _lower(resource.RLIMIT_CPU, self._order.cpu_seconds)

    def _holds(self, layer: Layer) -> bool:
        return layer in self._order.layers and layer not in self._absent

    def _files(self, deno: str) -> list[str]:
        if not self._order.layers & {Layer.LANDLOCK, Layer.ROOT}:
            return []
        try:
            return libraries.needed_by(deno)
        except OSError as error:
            self._absent |= dict.fromkeys((Layer.LANDLOCK, Layer.ROOT), _reason(error))
            return []

    def _enter_namespaces(self, deno: str, files: Iterable[str]) -> None:
        with_root = self._holds(Layer.ROOT)
        try:
            namespaces.enter(with_mounts=with_root)
        except OSError as error:
            raise LayerFailed(Layer.NAMESPACES, _reason(error)) from error
        if with_root:
            try:
                namespaces.change_root(deno, files)
            except (OSError, KeyError) as error:
                raise LayerFailed(Layer.ROOT, _reason(error)) from error

    def _make_ruleset(self, files: list[str]) -> int | None:
        try:
            return landlock.make_ruleset(files)
        except OSError as error:
            self._absent[Layer.LANDLOCK] = _reason(error)
            return None

    def _make_filter(self) -> seccomp.Filter | None:
        try:
            seccomp.check()
            return seccomp.make_filter(os.uname().machine)
        except OSError as error:
            self._absent[Layer.SECCOMP] = _reason(error)
            return None


def _lower(limit: int, value: int) -> None:
    hard = resource.getrlimit(limit)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

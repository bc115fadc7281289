"""Landlock: the files that Deno needs to start and no other, no TCP, no signals or sockets beyond the process.

The ruleset is made once and each process takes it on: that costs microseconds.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

from . import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE = 1 << 0
_READ_FILE = 1 << 2
# Everything about files that each version of Landlock can hold back, and what else it can.
_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_BIND_AND_CONNECT = (4, 0b11)
_SOCKETS_AND_SIGNALS_OF_OTHERS = (6, 0b11)


def version() -> int:
    """Raises OSError where the kernel has no Landlock, or has it switched off."""
    return kernel.syscall("landlock_create_ruleset", _CREATE_RULESET, None, 0, _VERSION)


def make_ruleset(readable: Iterable[str]) -> int:
    """A ruleset, as a descriptor: these files can be read and run, and nothing else can be touched."""
    abi = version()
    files = max(mask for since, mask in _FILES.items() if since <= abi)
    net = _TCP_BIND_AND_CONNECT[1] if abi >= _TCP_BIND_AND_CONNECT[0] else 0
    scopes = _SOCKETS_AND_SIGNALS_OF_OTHERS[1] if abi >= _SOCKETS_AND_SIGNALS_OF_OTHERS[0] else 0
    # An older kernel refuses a structure that is longer than its own, unless the rest is zero.
    attributes = struct.pack("=QQQ", files, net, scopes)
    ruleset = kernel.syscall("landlock_create_ruleset", _CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _EXECUTE | _READ_FILE)
    except OSError:
        os.close(ruleset)
        raise
    return ruleset


def restrict(ruleset: int) -> None:
    """From here on, this process is held to the ruleset, for good. It must have no_new_privs."""
    kernel.syscall("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)


def _allow(ruleset: int, path: str, access: int) -> None:
    target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", access, target)
        kernel.syscall("landlock_add_rule", _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(target)

"""Landlock layer: access only to the files that Deno needs to start; no TCP, no signals or sockets to other processes.

The ruleset is made once, and each process applies it to itself: that costs microseconds.
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
# File accesses that each version of Landlock can restrict. Below: other restrictions, each with its first version.
_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_BIND_AND_CONNECT = (4, 0b11)
_SOCKETS_AND_SIGNALS_OF_OTHERS = (6, 0b11)


def version() -> int:
    """The kernel's Landlock version. Raises OSError where it has none, or has it switched off."""
    return kernel.syscall("landlock_create_ruleset", _CREATE_RULESET, None, 0, _VERSION)


def make_ruleset(readable: Iterable[str]) -> int:
    """Make a ruleset; return its descriptor: these files can be read and executed, and no other can be accessed."""
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
    """Apply the ruleset to this process, for good. The process must have no_new_privs."""
    kernel.syscall("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)


def _allow(ruleset: int, path: str, access: int) -> None:
    target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", access, target)
        kernel.syscall("landlock_add_rule", _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(target)

"""Resolves references to secrets in a network policy. The values never reach the agent's code.

`${env:NAME}` is a variable of the host's environment, `${secret:NAME}` a line of the secrets file: `NAME=value`
lines with `#` comments, or a flat table when the file's name ends in `.toml`.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..contracts import SandboxError

log = logging.getLogger("motor_cortex.network")

MAX_SECRETS_FILE_BYTES = 1024 * 1024
# A shorter secret would be found, and redacted, in texts that have nothing to do with it.
MIN_SECRET_LENGTH = 8

_REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z_][A-Za-z0-9_.-]*)\}")
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class NetworkError(SandboxError):
    """A policy cannot be used on this machine. The message names the missing secret or file, never a value."""


def references(template: str) -> list[tuple[str, str]]:
    """The references of a template, as pairs of source and name. Raises ValueError for a malformed reference."""
    found = _REFERENCE.findall(template)
    if template.count("${") != len(found):
        raise ValueError("a reference is written ${env:NAME} or ${secret:NAME}")
    return found


@dataclass(slots=True)
class Vault:
    """Looks up secrets, and remembers every one that it gave out."""

    environment: Mapping[str, str]
    secrets_file: Path | None = None
    used: set[str] = field(default_factory=set)
    """Every secret that was given out."""
    values: set[str] = field(default_factory=set)
    """Every whole filled-in value that contains a secret."""
    _lines: dict[str, str] | None = None

    def fill(self, template: str) -> str:
        """The template with its secrets filled in. Raises NetworkError when one is missing or cannot be sent."""
        names = references(template)
        if not names:
            return template
        filled = _REFERENCE.sub(lambda reference: self._value(reference[1], reference[2]), template)
        self.values.add(filled)
        return filled

    def _value(self, source: str, name: str) -> str:
        if source == "env":
            value = self.environment.get(name)
            missing = "is not set"
        else:
            if self._lines is None:
                self._lines = read_secrets(self.secrets_file)
            value = self._lines.get(name)
            missing = "is not in the secrets file"
        called = f"environment variable {name}" if source == "env" else f"secret {name}"
        if value is None:
            raise NetworkError(f"the {called} {missing}")
        if len(value) < MIN_SECRET_LENGTH:
            raise NetworkError(f"the {called} has fewer than {MIN_SECRET_LENGTH} characters")
        if not value.isascii() or _CONTROL.search(value) or value != value.strip():
            raise NetworkError(f"the {called} holds a character that a header cannot carry")
        self.used.add(value)
        return value


def read_secrets(path: Path | None) -> dict[str, str]:
    """The names and values of a secrets file. Raises NetworkError, whose message quotes nothing of the file."""
    if path is None:
        raise NetworkError("an entry refers to a secrets file, and `secrets_file` names none")
    try:
        with path.open("rb") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & stat.S_IROTH:
                # Only a warning: secrets that container platforms mount have this mode.
                log.warning('Every user of this machine can read the secrets file "%s": chmod 600 it', path)
            text = file.read(MAX_SECRETS_FILE_BYTES + 1)
        if len(text) > MAX_SECRETS_FILE_BYTES:
            raise NetworkError(f'the secrets file "{path}" is larger than {MAX_SECRETS_FILE_BYTES} bytes')
        return _from_toml(text.decode()) if path.suffix == ".toml" else _from_lines(text.decode(), path)
    except OSError as error:
        raise NetworkError(f'the secrets file "{path}" cannot be read: {error.strerror}') from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        # Not chained: the parser's message quotes the line.
        raise NetworkError(f'the secrets file "{path}" is not text of its kind') from None


def _from_toml(text: str) -> dict[str, str]:
    return {name: value for name, value in tomllib.loads(text).items() if isinstance(value, str)}


def _from_lines(text: str, path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        plain = line.strip()
        if not plain or plain.startswith("#"):
            continue
        pair = _LINE.fullmatch(plain)
        if pair is None:
            raise NetworkError(f'line {number} of the secrets file "{path}" is not NAME=value')
        name, value = pair.groups()
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        found[name] = value[1:-1] if quoted else value
    return found

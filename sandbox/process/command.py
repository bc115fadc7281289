"""The exact command line and environment that Deno is started with."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ..contracts import SandboxUnavailable
from ..disk import data_file
from ..jail import DENO
from ..ports import SandboxSettings

PERMISSIONS = (
    "--no-prompt",
    "--deny-read",
    "--deny-write",
    "--deny-net",
    "--deny-env",
    "--deny-sys",
    "--deny-run",
    "--deny-ffi",
    "--deny-import",
)
MODULES = (
    "--no-remote",  # --deny-net does not stop the import of https: modules
    "--no-npm",
    "--cached-only",
    "--no-config",  # a deno.json or package.json nearby would change the start
    "--no-lock",
    "--no-code-cache",
)

ENVIRONMENT: Mapping[str, str] = {
    "DENO_DIR": "/dev/null/x",  # localStorage and caches would outlive the run
    "DENO_EMIT_CACHE_MODE": "disable",  # without it the impossible DENO_DIR costs 150 ms
    "DENO_NO_UPDATE_CHECK": "1",
    "NO_COLOR": "1",
    "TZ": "UTC",  # the same everywhere, and nothing of where this machine is
}

BOOTSTRAP = (
    "data:text/javascript,"
    "const b=new Uint8Array(%d);"
    "for(let n=0;n<b.length;)n+=Deno.stdin.readSync(b.subarray(n))??Deno.exit();"
    "(0,eval)(new TextDecoder().decode(b))"
)

INSTALL_HINT = 'install it with "pip install deno", or name it with deno_path'


@dataclass(frozen=True, slots=True)
class Command:
    """How to start Deno: binary, arguments, environment, and the harness to send first."""

    binary: Path
    argv: tuple[str, ...]
    """As the process sees it: its name is not the path of the binary, which would reveal a path of this machine."""
    environment: Mapping[str, str]
    harness: bytes
    """The JavaScript that the process reads first from its stdin."""

    def version(self) -> str:
        """A string that changes whenever code could run differently: with the binary, the harness or a flag. Raises
        SandboxUnavailable when the binary is gone."""
        try:
            binary = self.binary.stat()
        except OSError as error:
            raise SandboxUnavailable(f'Cannot start Deno: no executable at "{self.binary}"; {INSTALL_HINT}') from error
        # Not `deno --version`: that needs a start, and a custom build reports the same version as the official one.
        facts = [*(str(self.binary), binary.st_size, binary.st_mtime_ns), self.argv, dict(self.environment)]
        return hashlib.sha256(json.dumps(facts).encode() + self.harness).hexdigest()[:32]


def find_deno(settings: SandboxSettings) -> Path:
    """Find the Deno binary: the one of the settings, else the wheel's, else the one on PATH."""
    if settings.deno_path is not None:
        return _executable(settings.deno_path)
    for candidate in (_from_wheel(), _from_path()):
        if candidate is not None:
            return _executable(candidate)
    raise SandboxUnavailable(f"Cannot start Deno: no executable was found; {INSTALL_HINT}")


def deno_command(deno: Path, settings: SandboxSettings, permissions: Sequence[str] = PERMISSIONS) -> Command:
    """Build the command; the same for every tier, so that one pool serves them all. No setting changes `permissions`:
    only tests of the layers behind Deno's permissions pass others.

    Deno does not load the harness from a file: the host writes it to the pipe, and a one-line program evaluates it.
    That avoids a module graph at every start, and the process sees no path of this machine.
    """
    harness = data_file("deno", "harness.js").read_bytes()
    argv = (
        DENO,
        "run",
        "--quiet",
        *permissions,
        *MODULES,
        f"--v8-flags=--max-old-space-size={settings.max_heap_mb}",
        BOOTSTRAP % len(harness),
    )
    return Command(deno, argv, ENVIRONMENT, harness)


def _executable(path: Path) -> Path:
    if not path.is_file():
        raise SandboxUnavailable(f'Cannot start Deno: no executable at "{path}"; {INSTALL_HINT}')
    if not os.access(path, os.X_OK):
        raise SandboxUnavailable(f'Cannot start Deno: "{path}" is not executable; run chmod +x on it')
    return path


def _from_wheel() -> Path | None:
    # Not `import deno`: that would run another project's code, and could find a folder of the user's instead.
    try:
        files = metadata.files("deno") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "deno" and file.parent.name == "bin":
            path = Path(str(file.locate())).resolve()
            if path.is_file():
                return path
    return None


def _from_path() -> Path | None:
    found = shutil.which("deno")
    return Path(found) if found else None

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
    binary: Path
    argv: tuple[str, ...]
    """As the process sees it: its name is not the path of the binary, which is one of this machine."""
    environment: Mapping[str, str]
    harness: bytes
    """What the process reads first."""

    def version(self) -> str:
        """A text that changes whenever code could run differently: with the binary, the harness or a flag. Raises
        SandboxUnavailable when the binary is gone."""
        try:
            binary = self.binary.stat()
        except OSError as error:
            raise SandboxUnavailable(f'Cannot start Deno: no executable at "{self.binary}"; {INSTALL_HINT}') from error
        # Not what it calls itself: that takes a start, and a build of one's own calls itself as the others do.
        facts = [*(str(self.binary), binary.st_size, binary.st_mtime_ns), self.argv, dict(self.environment)]
        return hashlib.sha256(json.dumps(facts).encode() + self.harness).hexdigest()[:32]


def find_deno(settings: SandboxSettings) -> Path:
    """The Deno binary: the one of the settings, else the wheel's, else the one on PATH."""
    if settings.deno_path is not None:
        return _executable(settings.deno_path)
    for candidate in (_from_wheel(), _from_path()):
        if candidate is not None:
            return _executable(candidate)
    raise SandboxUnavailable(f"Cannot start Deno: no executable was found; {INSTALL_HINT}")


def deno_command(deno: Path, settings: SandboxSettings, permissions: Sequence[str] = PERMISSIONS) -> Command:
    """The same for every tier, so that one pool serves them all. No setting leads to other permissions: they are for
    those who try what stands behind Deno's.

    The harness is not a file for Deno to load: it goes down the pipe, and a one-line program takes it from there.
    That spares a module graph at every start, and no path of this machine is visible in the process.
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
    # `import deno` would run another project's code, and the name may mean a folder of the user's.
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

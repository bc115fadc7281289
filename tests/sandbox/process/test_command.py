from __future__ import annotations

from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from sandbox import DenoRuntime, SandboxSettings, SandboxUnavailable
from sandbox.process.command import deno_command, find_deno


def test_the_command_line_is_exactly_this():
    command = deno_command(Path("/opt/deno"), SandboxSettings(max_heap_mb=256))
    *flags, program = command.argv
    assert command.binary == Path("/opt/deno")
    assert flags == [
        "/deno",  # what the process sees of it
        "run",
        "--quiet",
        "--no-prompt",
        "--deny-read",
        "--deny-write",
        "--deny-net",
        "--deny-env",
        "--deny-sys",
        "--deny-run",
        "--deny-ffi",
        "--deny-import",
        "--no-remote",
        "--no-npm",
        "--cached-only",
        "--no-config",
        "--no-lock",
        "--no-code-cache",
        "--v8-flags=--max-old-space-size=256",
    ]
    assert program == (
        f"data:text/javascript,const b=new Uint8Array({len(command.harness)});"
        "for(let n=0;n<b.length;)n+=Deno.stdin.readSync(b.subarray(n))??Deno.exit();"
        "(0,eval)(new TextDecoder().decode(b))"
    )


def test_the_environment_is_exactly_this():
    assert dict(deno_command(Path("/opt/deno"), SandboxSettings()).environment) == {
        "DENO_DIR": "/dev/null/x",
        "DENO_EMIT_CACHE_MODE": "disable",
        "DENO_NO_UPDATE_CHECK": "1",
        "NO_COLOR": "1",
        "TZ": "UTC",
    }


def test_the_wheels_binary_is_found_before_the_one_on_path(monkeypatch, tmp_path):
    other = tmp_path / "deno"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_deno(SandboxSettings()) != other

    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", not_installed)
    assert find_deno(SandboxSettings()) == other


def test_no_deno_at_all_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr(metadata, "files", lambda name: [])
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SandboxUnavailable, match='no executable was found; install it with "pip install deno"'):
        find_deno(SandboxSettings())


def test_the_version_changes_with_the_binary_the_harness_and_the_flags(tmp_path):
    deno = tmp_path / "deno"
    deno.write_text("one")
    command = deno_command(deno, SandboxSettings())
    versions = [
        command.version(),
        deno_command(deno, SandboxSettings(max_heap_mb=256)).version(),
        replace(command, harness=command.harness + b"//").version(),
        replace(command, environment={**command.environment, "TZ": "CET"}).version(),
    ]
    deno.write_text("another")
    versions.append(command.version())
    assert len(set(versions)) == len(versions)
    assert deno_command(deno, SandboxSettings()).version() == versions[-1]


def test_a_binary_that_is_gone_has_no_version(tmp_path):
    with pytest.raises(SandboxUnavailable, match="Cannot start Deno: no executable at"):
        deno_command(tmp_path / "deno", SandboxSettings()).version()


def test_a_runtime_knows_its_version_before_it_is_open():
    assert DenoRuntime().version == deno_command(find_deno(SandboxSettings()), SandboxSettings()).version()

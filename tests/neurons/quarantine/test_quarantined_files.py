"""Candidates that use files, in quarantine with real Deno: recognised, tried in an empty folder, told to the owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from neurons import FingerprintReader, rehearse
from sandbox import DenoRuntime
from tests.conftest import small
from tests.neurons.candidates import candidate, settings

pytestmark = [pytest.mark.deno, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

PATIENT = settings(autonomic={"timeout_isolated_ms": 10_000}, quarantine={"burst": 5})


async def report_on(code: str):
    async with DenoRuntime(small()) as runtime, FingerprintReader() as reader:
        return await rehearse(candidate(code), runtime, PATIENT, read=reader.read)


async def test_a_candidate_that_reads_files_is_recognised_and_its_owner_is_told():
    code = "emit('seen', await Deno.readTextFile('sales.csv').catch((error) => error.name));"
    report = await report_on(code)
    assert report.problems == ()
    assert report.files == "read"
    assert any(finding.startswith("reads files: the folder was empty here") for finding in report.findings)


async def test_a_candidate_that_does_not_expect_a_missing_file_is_told_what_to_change():
    report = await report_on("emit('seen', await Deno.readTextFile('sales.csv'));")
    assert not report.passed
    assert report.files == "read"
    assert "a file may be missing at any time: catch that" in report.problems[0]


async def test_a_candidate_writes_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = """
    await Deno.writeTextFile("log.txt", "x");
    const names = [];
    for await (const { name } of Deno.readDir(".")) names.push(name);
    emit("seen", names);
    """
    report = await report_on(code)
    assert report.problems == ()
    assert report.files == "write"
    assert list(tmp_path.rglob("*.txt")) == []
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("motor-cortex-")]


async def test_a_word_in_a_comment_is_no_wish_for_files():
    report = await report_on("emit('seen', 1); // once this was Deno.readTextFile")
    assert report.problems == ()
    assert report.files == ""

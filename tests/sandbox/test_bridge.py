"""What the bridge says when the host's own side of a call fails."""

from __future__ import annotations

import json
import math

import pytest

from sandbox import ReadyJson, SandboxSettings
from sandbox.bridge import Bridge
from sandbox.frames import Fetch, FileCall, ToolCall
from sandbox.run_clock import RunClock
from sandbox.testing import FunctionTools

FETCH = Fetch("7", "https://example.com", "GET", [], None, "follow")
FILE = FileCall("7", "stat", {"path": "a"})


class Broken:
    """A network and files that fail as nobody planned."""

    requests = received_bytes = 0
    max_calls = 10

    async def fetch(self, call):
        raise ValueError("the secret of the host")

    async def answer(self, call):
        raise ValueError("the secret of the host")


async def answer(bridge: Bridge, call) -> dict:
    return json.loads(await line(bridge, call))


async def line(bridge: Bridge, call) -> bytes:
    sent = []

    async def send(make):
        sent.append(make())

    await bridge.answer(call, send, RunClock(math.inf))
    [frame] = sent
    return frame


@pytest.mark.parametrize(("call", "code"), [(FETCH, "network"), (FILE, "PermissionDenied")])
async def test_a_fault_of_the_host_is_an_error_of_the_call_without_its_text(call, code, caplog):
    frame = await answer(Bridge(None, SandboxSettings(), Broken(), Broken()), call)
    assert (frame["type"], frame["call_id"], frame["code"]) == ("__tool_error__", "7", code)
    assert "ValueError" in frame["error"]
    assert "secret" not in frame["error"]
    assert "the secret of the host" in caplog.text  # for the person who runs it


@pytest.mark.parametrize(("call", "code"), [(FETCH, "denied"), (FILE, "PermissionDenied")])
async def test_what_was_not_granted_is_refused_here_whatever_the_guest_says(call, code):
    assert (await answer(Bridge(None, SandboxSettings()), call))["code"] == code


async def test_json_text_is_sent_as_it_is_and_in_one_line():
    async def ready(arguments):
        return ReadyJson(b'{"a":  1.50,\n"a": 1e2}')  # as nobody would write it who had read it

    bridge = Bridge(FunctionTools({"ready": ready}), SandboxSettings())
    sent = await line(bridge, ToolCall("7", "ready", {}))
    assert sent == b'{"type":"__tool_result__","call_id":"7","result":{"a":  1.50, "a": 1e2}}\n'

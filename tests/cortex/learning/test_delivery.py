"""What a neuron emits reaches the owner, the chat and the agent, each once and with a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cortex import load_settings
from cortex.channels.desktop import DesktopChannel, arguments, desktop_command
from cortex.channels.webhook import emission_body
from cortex.learning import channels_of
from cortex.learning.delivery import Delivery
from neurons import ChannelError, Emitted, Signal

pytestmark = pytest.mark.anyio


class Bell:
    """A channel from before there were emissions."""

    async def notify(self, notice: object) -> None:
        raise AssertionError


class Loud(Bell):
    name = "loud"

    def __init__(self, problem: str = "") -> None:
        self.heard: list[str] = []
        self.problem = problem

    async def emitted(self, emitted: Emitted) -> None:
        if self.problem:
            raise ChannelError(self.problem)
        self.heard.append(emitted.text)


def emitted(action: str, text: str = "only 3 left") -> Emitted:
    signal = Signal("low_stock", "neuron:stock-watch", {"left": 3}, at=5.0, id="abc", said=text)
    return Emitted("stock-watch", "StockWatch", action, text, signal)


class TestDelivery:
    async def test_each_action_goes_its_way_and_is_one_record(self) -> None:
        records: list[tuple[str, dict[str, Any]]] = []
        said: list[tuple[str, Signal]] = []

        async def wake(signal: Signal) -> None:
            said.append(("wake", signal))

        async def answer(signal: Signal) -> None:
            said.append(("answer", signal))

        loud = Loud()
        delivery = Delivery(
            [Bell(), loud, Loud("down")], wake, answer, record=lambda kind, /, **facts: records.append((kind, facts))
        )
        assert delivery.actions == {"notify", "wake", "answer"}
        assert await delivery.deliver(emitted("notify")) == ["loud"]
        assert loud.heard == ["only 3 left"]
        assert await delivery.deliver(emitted("wake")) == ["agent"]
        assert await delivery.deliver(emitted("answer")) == ["chat"]
        assert [(how, signal.said) for how, signal in said] == [("wake", "only 3 left"), ("answer", "only 3 left")]
        assert [(kind, facts["what"], facts["told"]) for kind, facts in records] == [
            ("emission", "emission notify", "loud"),
            ("emission", "emission wake", "agent"),
            ("emission", "emission answer", "chat"),
        ]

    async def test_a_program_takes_only_what_it_can_do(self) -> None:
        async def wake(signal: Signal) -> None:
            del signal

        assert Delivery([Bell()], None, None, record=lambda *_, **__: None).actions == set()
        assert Delivery([Loud()], None, None, record=lambda *_, **__: None).actions == {"notify"}
        # A host without a conversation of its own is woken by an answer, too.
        assert Delivery([], wake, None, record=lambda *_, **__: None).actions == {"wake", "answer"}


def test_the_webhook_is_told_the_text_the_data_and_an_id() -> None:
    assert emission_body(emitted("notify")) == {
        "event": "neuron_emitted",
        "id": "abc",
        "neuron": "stock-watch",
        "name": "StockWatch",
        "type": "low_stock",
        "text": "only 3 left",
        "data": {"left": 3},
        "at": 5.0,
    }


class TestDesktop:
    async def test_the_command_gets_title_and_text_and_neither_is_an_option_or_markup(self, tmp_path: Path) -> None:
        command = tmp_path / "notify-send"
        command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/given\n')
        command.chmod(0o755)
        environment = {"PATH": str(tmp_path), "DISPLAY": ":0"}
        assert desktop_command(environment) == str(command)
        assert desktop_command({"PATH": str(tmp_path)}) is None
        assert desktop_command({"PATH": "", "DISPLAY": ":0"}) is None
        await DesktopChannel(str(command)).emitted(emitted("notify", "--urgent <b>now</b>"))
        given = (tmp_path / "given").read_text().splitlines()
        assert given == ["--app-name=motor-cortex", "--", "StockWatch", "--urgent &lt;b&gt;now&lt;/b&gt;"]
        assert arguments("/usr/bin/osascript", "T", '" & (do shell script "x")')[-2:] == [
            "T",
            '" & (do shell script "x")',
        ]

    async def test_a_command_that_fails_or_hangs_is_an_error_in_words(self, tmp_path: Path) -> None:
        command = tmp_path / "notify-send"
        command.write_text("#!/bin/sh\nexit 3\n")
        command.chmod(0o755)
        with pytest.raises(ChannelError, match=r"failed \(3\)"):
            await DesktopChannel(str(command)).emitted(emitted("notify"))
        command.write_text("#!/bin/sh\nexec sleep 600\n")
        with pytest.raises(ChannelError, match="on the desktop"):
            await DesktopChannel(str(command), showing_s=0.2).emitted(emitted("notify"))


def test_the_desktop_is_told_where_there_is_one_unless_it_is_off(tmp_path: Path, monkeypatch) -> None:
    command = tmp_path / "notify-send"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":0")

    def has_desktop(**owner: bool) -> bool:
        settings = load_settings(environment={}, home=tmp_path / "home", neurons={"owner": owner})
        return any(isinstance(channel, DesktopChannel) for channel in channels_of(settings))

    assert has_desktop()
    assert not has_desktop(desktop=False)
    monkeypatch.setenv("PATH", "")
    assert not has_desktop()

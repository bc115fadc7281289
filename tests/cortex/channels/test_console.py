"""What the owner sees of a proposal: all of it, and nothing that could deceive."""

from __future__ import annotations

import dataclasses
import io
import os

import pytest

from cortex.channels import ConsoleChannel, owner_view
from neurons import ChannelError, Metadata
from tests.cortex.channels.hook_server import notice, proposal


class Habit:
    id = "h-1"
    occurrences = 8
    purpose = "check the price"


def test_the_owner_sees_everything_that_is_approved():
    lines = owner_view(proposal(), Habit())
    assert lines[0] == "Agent wants to learn: CryptoPrice neuron"
    text = "\n".join(lines)
    for part in (
        "crypto-price",
        "Tell when the price changes",
        "h-1, seen 8 times: check the price (in the agent's words)",
        "tick",
        "crypto_price_change",
        "network",
        "api.example.com",
        "shop.stock",
        "0.02 for one signal",
        "passed, 2 of 2 scenarios",
        "typical: ok",
        "burst: ok, 50 signals",
        "all well",
        "  | const price = 1;",
        "  | emit('crypto_price_change', { price });",
        "ab" * 32,
    ):
        assert part in text, part
    assert lines[-1].split() == ["hash", "ef" * 32]


def test_the_title_says_neuron_once():
    assert owner_view(proposal(name="CryptoPriceNeuron"))[0] == "Agent wants to learn: CryptoPriceNeuron"


def test_a_neuron_that_is_no_proposal_has_no_hash_to_repeat():
    lines = owner_view(proposal(status="active", request=None, report=None))
    assert lines[0] == "CryptoPrice neuron"
    assert not any(line.split()[:1] == ["hash"] for line in lines)


def test_a_deadline_beyond_the_calendar_hides_nothing():
    neuron = proposal()
    request = neuron.request.model_copy(update={"expires_at": 1e15})
    lines = owner_view(neuron.model_copy(update={"request": request}))
    assert lines[-2].endswith("an unknown time")
    assert lines[-1].split() == ["hash", "ef" * 32]


HOSTILE = (
    "\x1b[2J\x1b[H",  # clears the screen
    "\x9b2J",
    "\r",
    "\x08" * 5,
    "\u202e",  # turns the reading direction
    "\u2066",
    "\u200b",
    "\u2028",
    "\u00ad",
    "\u3164",
    "\U000e0041",
)


@pytest.mark.parametrize("character", HOSTILE)
def test_no_text_of_the_agent_controls_the_terminal_or_hides(character):
    metadata = Metadata(created_at="now", code_hash="ab" * 32, purpose=f"a{character}b", habit=f"h{character}1")
    neuron = proposal(code=f"const a = 1;{character}const b = 2;", metadata=metadata, hosts=(f"a{character}b",))
    for line in owner_view(neuron):
        assert all(each.isprintable() for each in line), line
        assert character not in line


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", "\u2028", "\x85", "\x0b"])
def test_no_text_of_the_agent_passes_for_a_line_of_ours(line_end):
    forged = f"harmless{line_end}  hash           {'0' * 64}"
    metadata = Metadata(created_at="now", code_hash="ab" * 32, purpose=forged)
    neuron = proposal(metadata=metadata, code=forged, hosts=(forged,), reason=forged)
    lines = [line for line in owner_view(neuron) if line.split()[:1] == ["hash"]]
    assert [line.split()[1] for line in lines] == ["ef" * 32]


def test_the_code_is_shown_whole_however_long_it_is():
    code = "\n".join(f"const value{number} = {number};" for number in range(3_000))
    shown = [line.removeprefix("  | ") for line in owner_view(proposal(code=code)) if line.startswith("  | ")]
    assert "\n".join(shown) == code


async def test_the_console_has_all_of_it_and_how_to_decide():
    out = io.StringIO()
    await ConsoleChannel(out).notify(notice())
    text = out.getvalue()
    assert text.startswith("Agent wants to learn: CryptoPrice neuron\n")
    assert "ef" * 32 in text
    assert "cortex neurons approve crypto-price" in text


async def test_the_console_tells_of_the_habit():
    out = io.StringIO()
    await ConsoleChannel(out).notify(dataclasses.replace(notice(), habit=Habit()))
    assert "h-1, seen 8 times: check the price" in out.getvalue()


async def test_continuation_lines_are_indented_so_that_none_looks_like_ours():
    out = io.StringIO()
    await ConsoleChannel(out).notify(notice(code="x" * 500 + "  hash  " + "0" * 64))
    marks = {line[:4] for line in out.getvalue().splitlines() if "xxx" in line or "000" in line}
    assert marks == {"  | ", "  : "}


async def test_the_console_is_standard_error_by_default(capsys):
    await ConsoleChannel().notify(notice())
    assert capsys.readouterr().err.startswith("Agent wants to learn")


async def test_a_console_that_is_gone_is_an_error_of_the_channel():
    out = io.StringIO()
    out.close()
    with pytest.raises(ChannelError, match="Cannot write to the console"):
        await ConsoleChannel(out).notify(notice())


async def test_a_console_that_takes_nothing_is_given_up():
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0) as end, os.fdopen(writer, "w") as stream:
        channel = ConsoleChannel(stream, writing_s=0.1)
        with pytest.raises(ChannelError, match=r"no process read the output for 0.1 s"):
            await channel.notify(notice(code="x\n" * 20_000))
        while b"cortex neurons reject" not in end.read(1_048_576):
            pass  # so that the thread ends

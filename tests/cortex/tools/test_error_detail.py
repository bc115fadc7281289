"""What the model and its code are told of an exception of a tool: the class, or the message too, redacted."""

from __future__ import annotations

import threading

import anyio
import pytest

from cortex import MotorCortex, Settings, Toolbox
from cortex.redaction import MAX_VALUE_CHARACTERS
from cortex.settings.sections import ToolSettings
from cortex.tools.calls import MAX_MESSAGE_CHARACTERS, Calls
from cortex.tools.consent import Allowed
from cortex.tools.policy import shows_messages
from sandbox import ToolError

pytestmark = pytest.mark.deno

SECRET = "jane.doe@example.com"
CODE = "try { await tools.shop.stock({}) } catch (e) { return [e.name, e.code, e.message] }"


class Odd(Exception):
    def __str__(self) -> str:
        raise ValueError("it cannot be shown")


def shop(error: BaseException) -> Toolbox:
    toolbox = Toolbox()

    async def stock() -> int:
        raise error

    toolbox.add(stock, name="shop.stock")
    return toolbox


async def told(home, error: BaseException, **tools: object) -> tuple[str, str]:
    """What the model is told, and what its code is."""
    settings = Settings.model_validate(
        {
            "home": home,
            "tools": tools,
            "sandbox": {"pool_size": 1},
            "neurons": {"autonomic": {"enabled": False}, "habits": {"enabled": False}},
        }
    )
    async with MotorCortex(settings, toolbox=shop(error)) as cortex, cortex.turn() as turn:
        model = await turn.call("shop.stock", {})
        return model, await turn.call("core.execute", {"purpose": "x", "code": CODE})


async def test_the_class_alone_is_told_by_default(tmp_path):
    for text in await told(tmp_path, LookupError("no such shelf")):
        assert "failed with LookupError" in text
        assert "shelf" not in text


async def test_a_message_is_shown_where_the_settings_say_so(tmp_path):
    model, code = await told(tmp_path, LookupError("no such\nshelf"), error_detail="message")
    assert model == 'EXECUTION_ERROR: ToolError: Tool "shop.stock" failed with LookupError: no such shelf'
    assert code == '["ToolError","internal","Tool \\"shop.stock\\" failed with LookupError: no such shelf"]'


async def test_a_setting_for_one_tool_beats_that_for_all(tmp_path):
    details = {"shop.stock": "class"}
    for text in await told(tmp_path / "a", LookupError("shelf"), error_detail="message", error_details=details):
        assert "shelf" not in text
    for text in await told(tmp_path / "b", LookupError("shelf"), error_details={"shop_stock": "message"}):
        assert "shelf" in text


async def test_a_message_is_redacted_and_bounded(tmp_path):
    # The secret lies over the limit: what is left of it is not shown, either.
    long = f"{'x' * (MAX_MESSAGE_CHARACTERS - 5)} {SECRET} " + "y" * 100_000
    for text in await told(tmp_path / "a", LookupError(long), error_detail="message"):
        assert "jane" not in text
        assert len(text) < MAX_MESSAGE_CHARACTERS + 200
    for text in await told(tmp_path / "b", LookupError(f"ask {SECRET}"), error_detail="message"):
        assert SECRET not in text
        assert "[EMAIL_1]" in text


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\r\n "])
async def test_half_a_secret_at_the_end_of_a_long_message_is_never_pulled_into_what_is_shown(tmp_path, blank):
    key = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"
    room = MAX_MESSAGE_CHARACTERS + MAX_VALUE_CHARACTERS
    padded = f"failed:{blank * (room // len(blank) + 1)}"[: room - 25] + key
    for text in await told(tmp_path / "a", LookupError(padded), error_detail="message"):
        assert "ghp_" not in text
    # Nor when what is redacted makes room for it.
    redacted = (f"{SECRET} " * room)[: room - 25] + key
    for text in await told(tmp_path / "b", LookupError(redacted), error_detail="message"):
        assert "ghp_" not in text


async def test_a_secret_of_several_lines_is_found_in_a_message(tmp_path):
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 8 + "-----END PRIVATE KEY-----"
    for text in await told(tmp_path, LookupError(f"no such\n\n{key}\nkey"), error_detail="message"):
        assert "MIIEvQ" not in text


async def test_long_messages_of_many_calls_do_not_stall_the_event_loop(tmp_path):
    calls, threads = 32, set()

    def redacted(text: str) -> str:
        threads.add(threading.get_ident())
        return text

    class Consenting:
        async def of(self, *_: object, **__: object) -> Allowed:
            return Allowed()

    settings = ToolSettings.model_validate({"error_detail": "message"})
    made = Calls(Consenting(), settings=settings, redacted=redacted)
    (tool,) = shop(LookupError("x " * 50_000))

    async def call() -> None:
        with pytest.raises(ToolError, match="failed with LookupError: x x"):
            await made.make(tool, {}, origin="code")

    async with anyio.create_task_group() as tasks:
        for _ in range(calls):
            tasks.start_soon(call)
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("error", [Odd(), LookupError()])
async def test_an_exception_without_a_message_is_told_by_its_class(tmp_path, error):
    for text in await told(tmp_path, error, error_detail="message"):
        assert f"failed with {type(error).__name__}" in text


def test_where_several_names_match_all_of_them_have_to_show_messages():
    both = ToolSettings.model_validate({"error_details": {"shop.stock": "message", "SHOP_STOCK": "class"}})
    assert not shows_messages("shop.stock", both)
    from_environment = ToolSettings.model_validate({"error_details": "shop.stock=message"})
    assert shows_messages("shop.stock", from_environment)
    assert not shows_messages("shop.order", from_environment)

"""By which channels an owner is told is a setting, and each of them is wired."""

from __future__ import annotations

from cortex.channels import ConsoleChannel, WebhookChannel
from cortex.chat import NudgeChannel
from cortex.commands.chat import _channels
from cortex.learning.learning import channels_of
from cortex.settings.settings import Settings, explain_settings
from tests.cortex.channels.hook_server import SECRET


class Interrupts:
    def __init__(self) -> None:
        self.nudges = 0

    def nudge(self) -> None:
        self.nudges += 1


def settings(**owner: object) -> Settings:
    return Settings(home="unused", neurons={"owner": owner})


WEBHOOK = {"webhook_url": "https://example.com/hook", "webhook_secret": SECRET}


def test_the_console_can_be_left_out_and_a_webhook_added():
    assert [type(channel) for channel in channels_of(settings())] == [ConsoleChannel]
    assert [type(channel) for channel in channels_of(settings(console=False))] == []
    assert [type(channel) for channel in channels_of(settings(**WEBHOOK))] == [ConsoleChannel, WebhookChannel]


async def test_at_a_prompt_the_question_takes_the_place_of_lines_on_the_console():
    interrupts = Interrupts()
    [nudging, webhook] = _channels(settings(**WEBHOOK), interrupts)  # type: ignore[arg-type]
    assert (type(nudging), type(webhook)) == (NudgeChannel, WebhookChannel)
    await nudging.notify(None)  # type: ignore[arg-type]
    assert interrupts.nudges == 1
    assert _channels(settings(console=False), interrupts) == []  # type: ignore[arg-type]


def test_neither_the_address_nor_the_secret_is_shown_by_cortex_config():
    environment = {
        "CORTEX_NEURONS__OWNER__WEBHOOK_URL": "https://example.com/hook/T0K3N",
        "CORTEX_NEURONS__OWNER__WEBHOOK_SECRET": SECRET,
        "CORTEX_HOME": "/nowhere",
    }
    shown = {explained.key: explained.value for explained in explain_settings(environment=environment)}
    assert "T0K3N" not in str(shown)
    assert SECRET not in str(shown)
    assert shown["neurons.owner.webhook_url"]


def test_an_empty_variable_means_no_webhook():
    environment = {"CORTEX_NEURONS__OWNER__WEBHOOK_URL": "", "CORTEX_NEURONS__OWNER__WEBHOOK_SECRET": ""}
    shown = {explained.key: explained.value for explained in explain_settings(environment=environment)}
    assert shown["neurons.owner.webhook_url"] is None

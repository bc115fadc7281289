"""By which channels an owner is told is a setting, and each of them is wired."""

from __future__ import annotations

from cortex.channels import ConsoleChannel, WebhookChannel
from cortex.chat.voice import Voice
from cortex.commands.chat import _channels
from cortex.learning.learning import channels_of
from cortex.learning.owner_outcomes import OutcomeChannel
from cortex.settings.settings import Settings, explain_settings
from neurons import Outcome
from tests.cortex.channels.hook_server import SECRET, proposal

LINE = "CryptoPrice neuron was stopped: too loud; to look at it: cortex neurons show crypto-price"


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
    voice = Voice(interrupts.nudge)
    [nudging, webhook] = _channels(settings(**WEBHOOK), voice)
    assert (nudging, type(webhook)) == (voice, WebhookChannel)
    await voice.notify(None)  # type: ignore[arg-type]
    assert interrupts.nudges == 1
    assert isinstance(voice, OutcomeChannel)
    await voice.outcome(Outcome("neuron_stopped", proposal(), 0, "too loud"))
    assert (interrupts.nudges, voice.take_line()) == (2, LINE)
    assert _channels(settings(console=False), voice) == []


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

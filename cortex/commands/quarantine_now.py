"""Run a neuron's quarantine from a command, so that the owner need not start an agent for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex.channels import WebhookChannel
from cortex.learning import killed_by
from neurons import Neuron
from sandbox import DenoRuntime, Guard, Running

if TYPE_CHECKING:
    from cortex.learning import Learning
    from cortex.settings import Settings
    from neurons import KillSwitch


async def try_now(neuron: Neuron, learning: Learning, settings: Settings, switch: KillSwitch) -> Neuron:
    """Run the quarantine and return the neuron after it, or unchanged if another process is running it. Raises
    SandboxUnavailable, and what the pipeline raises."""
    owner = settings.neurons.owner
    # No console channel: the command itself prints the result to the person at the console.
    channels = [WebhookChannel(owner)] if owner.webhook_url is not None else []
    running = Running(switch.running, switch.refusal)
    async with learning.reader, DenoRuntime(settings.sandbox, running=running) as runtime, Guard() as guard:
        notices = learning.notices(channels)
        tried = await learning.candidates(
            runtime, guard if settings.execute.guard else None, killed_by(switch, runtime.refusal), notices
        ).try_all()
        await notices.tell_all()
    found = next((one for one in tried if one.id == neuron.id), None)
    return learning.store.get(neuron.id) if found is None else found

"""Promises about who is told what a neuron emits. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "EMISSION-TOLD",
        "015",
        "what a neuron emits is told on the console, by the webhook and on the desktop, said in the chat, or starts a "
        "turn; each is one record of the audit",
        ("tests/cortex/learning/test_delivery.py::",),
    ),
    Requirement(
        "NEURONS-RUN",
        "015",
        "a command runs the neurons without a chat: other programs hand over to it, send it signals and get emissions; "
        "after kill -9 at any moment nothing that was told is told again, and what was written and not told is told",
        ("tests/cortex/commands/test_neuron_run.py::",),
    ),
    Requirement(
        "CHAT-NEURONS-SPEAK",
        "015",
        "in a chat a neuron can answer what the user says in place of the model, tell the owner something, and say "
        "something by itself, which the model finds in the conversation",
        ("tests/cortex/chat/test_neurons_speak.py::",),
    ),
)

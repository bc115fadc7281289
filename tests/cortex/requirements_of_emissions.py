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
)

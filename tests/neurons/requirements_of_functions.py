"""Promises about learned functions. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "FUNCTIONS-CALL",
        "015",
        "A learned function has code with arguments and gives back its result, bounded; it has no state, emits nothing, and "
        "reaches the tools and hosts that were approved and no other function; an error that it throws is an answer, and "
        "only what costs its process is a fault",
        ("tests/neurons/functions/test_calling.py::",),
    ),
    Requirement(
        "FUNCTIONS-HOME",
        "015",
        "Any process on a home calls the functions that the owner approved: verified, refused within about a second once "
        "they are disabled, at once by the kill switch and below the floor of the energy; counted, paid from the one "
        "reserve; one whose calls cost its process or its budget too often rests for up to an hour, and no arguments can "
        "disable it; in few processes, which idle ones give back",
        ("tests/neurons/functions/test_functions.py::",),
    ),
    Requirement(
        "FUNCTIONS-TOOLS",
        "015",
        "Code calls awake functions as tools.learned.<name>: declared, found and described like tools, under the policies of "
        "the owner, audited; also in a process that does not run the neurons, and by the program itself; MCP clients are told when they "
        "come and go",
        ("tests/cortex/learning/test_learned_functions.py::",),
    ),
    Requirement(
        "FUNCTIONS-QUARANTINE",
        "015",
        "A proposed function is called with recorded, usual and odd arguments that its schema allows, with network and tools "
        "replayed: it gives the promised result for recorded and for some usual ones, and with none of them hangs, crashes, "
        "costs more than its budget, reaches what it does not declare, or keeps something for the next call",
        ("tests/neurons/quarantine/test_functions.py::",),
    ),
)

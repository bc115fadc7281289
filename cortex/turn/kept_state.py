"""Keeps what a run has put into the store of its conversation, once the run has succeeded.

A module of its own because an execution needs one call of it, and the rest is about failures.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox import Changes, ErrorType, ExecutionError, ToolError

if TYPE_CHECKING:
    from cortex.home import ConversationStore, StoreFacts, Stores
    from neurons import Switch
    from sandbox import CodeRuntime, ExecutionOutcome, Store


def store_of(conversation: str | None, stores: Stores | None) -> ConversationStore | None:
    """The store that a run of the conversation is lent; None where there is none."""
    return None if conversation is None or stores is None else stores.of(conversation)


def lent(store: Store | None) -> dict[str, Any]:
    """The option of a runtime. Named only if there is a store: a runtime that a host brings may know of none."""
    return {} if store is None else {"store": store}


async def keep_state(
    outcome: ExecutionOutcome, store: ConversationStore | None, switch: Switch
) -> tuple[ExecutionOutcome, StoreFacts | None]:
    """The outcome, and what was kept. A run whose state cannot be kept has failed: the next run would miss it."""
    if store is None or not outcome.ok or not store.has_changes:
        return outcome, None
    try:
        # The switch may have been turned on after the last call of the code.
        if (killed := switch.refusal()) is not None:
            raise ToolError(killed, code="denied")
        return outcome, await store.commit()
    except ToolError as error:
        kind = ErrorType.LIMIT if error.code == "limit" else ErrorType.CRASH
        problem = ExecutionError(kind, f"The code ended, and nothing that it set in the store was kept: {error}")
        return replace(outcome, ok=False, result=None, result_bytes=None, error=problem, changes=Changes()), None


def takes_store(runtime: CodeRuntime) -> bool:
    """Whether the runtime can be given a store. One that a host brings may be older than that."""
    parameters = inspect.signature(runtime.execute).parameters.values()
    return any(each.name == "store" or each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)

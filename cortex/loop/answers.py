"""Runs the tool calls of one message concurrently, and answers each of them in order, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar

import anyio
import anyio.lowlevel

from cortex.text import whole

from .conversation import Conversation
from .endings import CALL_INTERRUPTED
from .messages import ToolAnswer, ToolRequest
from .ports import Answer, AnsweringTurn, CallEnded, CallStarted, Event
from .requests import firsts

_answered: ContextVar[str | None] = ContextVar("answered_call", default=None)


def answered_call() -> str | None:
    """The id of the call being answered in this task, for callbacks that report what happens meanwhile."""
    return _answered.get()


async def answer_all(
    turn: AnsweringTurn,
    calls: Sequence[ToolRequest],
    refusals: Sequence[str | None],
    conversation: Conversation,
    watch: Callable[[Event], None],
) -> None:
    """Run the calls without a refusal; identical calls run once. Raises what a watcher raises."""
    same_as = firsts(calls)
    answers: dict[int, Answer] = {}
    failures: list[Exception] = []

    async def answer_or_stop(place: int) -> None:
        try:
            await answer(place)
        except Exception as error:  # noqa: BLE001 - raised below unchanged: the task group would wrap it
            failures.append(error)
            tasks.cancel_scope.cancel()

    async def answer(place: int) -> None:
        call, refusal = calls[place], refusals[place]
        _answered.set(call.id)  # In a task of its own: other tasks do not see it.
        watch(CallStarted(call))
        if refusal is not None:
            given = turn.refuse(call.name, refusal)
        else:
            given = await turn.answer(call.name, call.arguments_json)
        answers[place] = given
        watch(CallEnded(call, given))

    try:
        async with anyio.create_task_group() as tasks:
            for place in sorted(set(same_as)):
                tasks.start_soon(answer_or_stop, place)
                # Started in order: if there is energy for only one, the first gets it.
                await anyio.lowlevel.checkpoint()
    finally:
        # Also on cancellation: endpoints refuse a conversation in which a call has no answer.
        for call, first in zip(calls, same_as, strict=True):
            conversation.append(ToolAnswer(call.id, call.name, _read_by_model(answers.get(first))))
    if failures:
        raise failures[0]


def _read_by_model(answer: Answer | None) -> str:
    if answer is None:
        return CALL_INTERRUPTED
    text = answer.text if answer.note is None else f"{answer.text}\n{answer.note}"
    return whole(text) or "(no output)"

"""Prepares a model's reply for the conversation: limits its size, and makes the ids of its calls unique. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from cortex.contracts import denied
from cortex.text import bounded, whole
from sandbox import JsonLimits, check_json

from .messages import AssistantMessage, ModelReply, ToolRequest

MAX_TEXT_CHARS = 200_000
MAX_ARGUMENTS_CHARS = 262_144
MAX_NAME_CHARS = 128
MAX_CALLS = 128
# Longer arguments count as the same only if equal letter by letter.
MAX_COMPARED_CHARS = 2_048
ARGUMENTS_LIMITS = JsonLimits(containers=20_000, values=20_000)

_USABLE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def tidied(message: AssistantMessage, taken_ids: Iterable[str]) -> AssistantMessage:
    """The message as it goes into the conversation.

    Call ids that are missing, odd or taken are replaced: an endpoint that finds one id twice cannot match answers to
    calls, and refuses the conversation from then on.
    """
    taken = set(taken_ids)
    calls = []
    for call in message.calls[:MAX_CALLS]:
        call_id = call.id if _USABLE_ID.fullmatch(call.id) and call.id not in taken else _free_id(taken)
        taken.add(call_id)
        calls.append(ToolRequest(call_id, whole(call.name)[:MAX_NAME_CHARS], whole(call.arguments_json)))
    return AssistantMessage(bounded(whole(message.text), MAX_TEXT_CHARS), tuple(calls))


def _free_id(taken: set[str]) -> str:
    # Nine letters and digits: some endpoints accept nothing else.
    number = len(taken)
    while (candidate := f"call{number:05d}") in taken:
        number += 1
    return candidate


def without_excess(message: AssistantMessage) -> AssistantMessage:
    """The message without arguments that are too long to run: they are too long to keep, too."""
    return AssistantMessage(
        message.text,
        tuple(
            ToolRequest(call.id, call.name, json.dumps({"left_out_characters": len(call.arguments_json)}))
            if len(call.arguments_json) > MAX_ARGUMENTS_CHARS
            else call
            for call in message.calls
        ),
    )


def refusal(call: ToolRequest, reply: ModelReply) -> str | None:
    """Why this call must not run, or None. Incomplete arguments are not run: the missing part is unknown."""
    if len(call.arguments_json) > MAX_ARGUMENTS_CHARS:
        return denied(
            f"The arguments have {len(call.arguments_json)} characters and may have {MAX_ARGUMENTS_CHARS}; send less."
        )
    if reply.finish == "length" and parsed_arguments(call.arguments_json) is None:
        return denied("Your reply reached its limit and the arguments were cut off; send less at once.")
    return None


def parsed_arguments(arguments_json: str) -> Any:
    """The parsed arguments; None when they are not JSON, or too complex."""
    try:
        check_json(arguments_json, ARGUMENTS_LIMITS)
        return json.loads(arguments_json)
    except (ValueError, RecursionError):
        return None


def firsts(calls: Iterable[ToolRequest]) -> list[int]:
    """For each call the index of the first identical one. A model that repeats itself acts once."""
    seen: dict[tuple[str, str], int] = {}
    return [seen.setdefault(call_key(call), place) for place, call in enumerate(calls)]


def call_key(call: ToolRequest) -> tuple[str, str]:
    """A key that is equal for calls of the same tool with the same arguments."""
    text = call.arguments_json
    value = parsed_arguments(text) if len(text) <= MAX_COMPARED_CHARS else None
    return call.name, text if value is None else json.dumps(value, sort_keys=True)

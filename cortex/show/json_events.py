"""The events of a turn as JSON objects, for programs. Keys are added, never removed or renamed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, assert_never

from cortex.contracts import ExecutionEnded, ExecutionStarted, Proposed, Refused, Remembered, Said, ToolCalled
from cortex.loop import CallEnded, CallStarted, Notice, RoundEnded, TextArrived, Waiting

if TYPE_CHECKING:
    from cortex.contracts import RunCodeIntent, TurnEvent
    from cortex.loop import Event


def as_json(event: TurnEvent | Event) -> dict[str, Any]:  # noqa: PLR0911, PLR0912 - one for each event
    """The event as a JSON object; its kind is under "event"."""
    match event:
        case TextArrived(text):
            return {"event": "text", "text": text}
        case Notice(text):
            return {"event": "notice", "text": text}
        case Waiting(reason, again_in_s):
            return {"event": "waiting", "reason": reason or None, "again_in_s": again_in_s}
        case Said(text):
            return {"event": "said", "text": text}
        case Remembered(text):
            return {"event": "remembered", "text": text}
        case ExecutionStarted(intent, level_before, level):
            energy = {"level_before": level_before, "level": level}
            return {"event": "execution_started", **_intent(intent), **energy}
        case ExecutionEnded(intent, outcome, reply, level):
            return {
                "event": "execution_ended",
                "call": intent.trace.call if intent.trace else None,
                "ok": outcome.ok,
                "reply": reply,
                "metrics": asdict(outcome.metrics),
                "wall": outcome.metrics.level,
                "level": level,
                **_displayed(event),
            }
        case Refused(tool, reply, intent):
            about = _intent(intent) if intent else {}
            return {"event": "refused", "tool": tool, "reply": reply, **about}
        case ToolCalled(tool, origin, ok, duration_ms):
            return {"event": "tool_called", "tool": tool, "origin": origin, "ok": ok, "duration_ms": duration_ms}
        case Proposed(neuron, name, purpose):
            return {"event": "proposed", "neuron": neuron, "name": name, "purpose": purpose}
        case CallStarted(call):
            return {"event": "call_started", "id": call.id, "name": call.name, "arguments": call.arguments_json}
        case CallEnded(call, answer):
            about = {"id": call.id, "name": call.name}
            return {"event": "call_ended", **about, "ok": answer.ok, "text": answer.text, "note": answer.note}
        case RoundEnded(rounds, usage):
            return {"event": "round_ended", "rounds": rounds, "usage": asdict(usage)}
        case _:
            assert_never(event)


def _displayed(ended: ExecutionEnded) -> dict[str, Any]:
    """What was displayed, without the bytes of files; nothing where nothing was."""
    if not ended.displayed:
        return {}
    return {
        "displayed": [
            {**item.label, "bytes": len(item.data)} | ({} if item.is_file else {"text": item.text})
            for item in ended.displayed
        ]
    }


def _intent(intent: RunCodeIntent) -> dict[str, Any]:
    payload = intent.payload
    return {
        "call": intent.trace.call if intent.trace else None,
        "purpose": payload.purpose,
        "code": payload.code,
        "language": payload.language,
        "tier": payload.tier,
        "timeout_ms": payload.timeout,
    }

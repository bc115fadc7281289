"""Neurons of every kind, and the pages that their owner is shown of them. `python -m` this module rewrites the
snapshots."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cortex.channels import how_to_decide, owner_summary, owner_view, set_in
from neurons import (
    Approval,
    Around,
    Difference,
    Equality,
    FileGrant,
    Metadata,
    Neuron,
    Policy,
    Report,
    ScenarioResult,
    Version,
    code_hash,
    policy_hash,
)
from tests.cortex.channels.hook_server import proposal

SNAPSHOTS = Path(__file__).parent / "snapshots"
COLUMNS = 80
AT = 1_790_000_000.0

PRICE = {
    "input_signals": (),
    "schedules": ({"every": "15m"},),
    "output_signals": ("price_change",),
    "hosts": ("api.coingecko.com",),
    "tools": (),
    "emission": {"action": "notify", "text": "Bitcoin is at {usd}"},
}
INTEREST = {
    "id": "compound-interest",
    "name": "CompoundInterest",
    "kind": "function",
    "code": "return p * (1 + r) ** n;",
    "input_signals": (),
    "output_signals": (),
    "tier": "isolated",
    "hosts": (),
    "tools": (),
    "parameters": {
        "type": "object",
        "properties": {"p": {"type": "number"}, "r": {"type": "number"}, "n": {"type": "integer"}},
        "required": ["p", "r", "n"],
    },
    "returns": {"type": "number"},
}
COLLECTOR = {
    "id": "collector",
    "name": "Collector",
    "input_signals": ("user_message",),
    "output_signals": ("words",),
    "tier": "isolated",
    "hosts": (),
    "tools": (),
}
POSTER = {
    "id": "poster",
    "name": "Poster",
    "input_signals": ("words",),
    "output_signals": ("posted",),
    "hosts": ("hooks.example.com",),
    "tools": (),
    "status": "active",
}
ARCHIVE = {**POSTER, "id": "archive", "name": "Archive", "input_signals": ("posted",), "output_signals": ()}
ARCHIVE |= {"hosts": (), "tier": "isolated", "tools": ("notes.add",), "status": "trial"}


class Habit:
    id = "h-1"
    occurrences = 8
    purpose = "check the price"


def report(**changes: Any) -> Report:
    scenarios = (
        ScenarioResult(name="typical signals", signals=4, ok=True, emitted={"price_change": 1}, energy=0.0021),
        ScenarioResult(name="odd answers", signals=8, ok=True, energy=0.0043),
    )
    return Report(**{"at": 0, "code_hash": "ab" * 32, "policy_hash": "cd" * 32, "scenarios": scenarios, **changes})


def approved_before(before: dict[str, Any], **changes: Any) -> Neuron:
    """A second version, of which the first was approved."""
    old, new = proposal(**before), proposal(**{**before, **changes})
    first = version_of(old, 1)
    approval = Approval(
        nonce="n" * 16, code_hash=first.code_hash, policy_hash=first.policy_hash, by="owner", at=AT, signature="s"
    )
    return new.model_copy(update={"version": 2, "versions": (first, version_of(new, 2)), "approvals": (approval,)})


def version_of(neuron: Neuron, number: int) -> Version:
    policy = Policy.of(neuron)
    return Version(
        version=number,
        code=neuron.code,
        code_hash=code_hash(neuron.code),
        policy=policy,
        policy_hash=policy_hash(policy),
        created_at="now",
    )


def with_files() -> Neuron:
    neuron = proposal(
        **COLLECTOR, code='Deno.readTextFileSync("/workspace/a");', status="trial", report=report(), request=None
    )
    approval = Approval(
        nonce="n" * 16,
        code_hash=code_hash(neuron.code),
        policy_hash=policy_hash(Policy.of(neuron)),
        by="owner",
        at=AT,
        files=FileGrant(folder="/home/ann/notes"),
        signature="s",
    )
    return neuron.model_copy(update={"approvals": (approval,)})


OLD_CODE = "const threshold = 0.01;\nconst url = 'https://api.coingecko.com';\nemit('price_change', threshold);"
NEW_CODE = OLD_CODE.replace("0.01", "0.05") + "\nawait fetch('https://evil.example.com');"
DIFFERENCE = Difference(input='the run of 2026-11-17, with "usd" as 0', script="nothing", candidate="emitted 1\u202e")
OTHER_THINGS = Equality(
    runs=1,
    compared=1,
    only_calls=True,
    asked=("shop.stock",),
    is_named=False,
    first_difference=Difference(
        input="recorded run 1",
        script='calls only shop.stock {"item":"milk"}',
        candidate='also calls shop.stock {"item":"tea"}; shop.stock {"item":"coffee"}',
    ),
)
DIFFERENT = Equality(runs=5, compared=41, equal=40, first_difference=DIFFERENCE)
HOSTILE = "fine\u202e\x1b[2J\u200b\n  hash          " + "0" * 64


def pages() -> dict[str, list[str]]:
    hostile = Metadata(created_at="now", code_hash="ab" * 32, purpose=HOSTILE, habit=HOSTILE)
    hearing = Around((proposal(**POSTER), proposal(**ARCHIVE), proposal(**COLLECTOR)))
    weekdays = {"at": "09:00 mon-fri", "zone": "Europe/Berlin"}
    views: dict[str, Any] = {
        "schedule": (proposal(**PRICE, report=report()),),
        "tick": (proposal(emission={"action": "none", "text": ""}, report=report()),),
        "tick-every-ten-seconds": (proposal(report=report()), Around(tick_s=10)),
        "no-recharge": (proposal(report=report()), Around(recharge_a_day=0)),
        "weekdays-wake": (
            proposal(**{**PRICE, "schedules": (weekdays, {"at": "18:30 sat,sun"}), "emission": {"action": "wake"}}),
        ),
        "once-answer": (
            proposal(**{**PRICE, "schedules": ({"once": "2030-01-31 09:00"},), "emission": {"action": "answer"}}),
        ),
        "own-signal": (proposal(input_signals=("sold", "energy"), report=report()),),
        "emits-nothing": (proposal(input_signals=("hour_changed",), output_signals=(), tools=()),),
        "many-names": (
            proposal(
                hosts=tuple(f"a-rather-long-name-{n}.example.com" for n in range(16)),
                tools=tuple(f"shop.tool_{n}" for n in range(16)),
                input_signals=tuple(f"signal_{n}" for n in range(16)),
                output_signals=tuple(f"out_{n}" for n in range(16)),
            ),
        ),
        "function": (proposal(**INTEREST, report=report(scenarios=())),),
        "function-measured": (proposal(**{**INTEREST, "status": "active", "request": None}, report=report()),),
        "collector-and-poster": (proposal(**COLLECTOR), hearing),
        "poster-and-collector": (proposal(**{**POSTER, "status": "awaiting_owner"}), hearing),
        "new-version": (approved_before({**PRICE, "code": OLD_CODE}, code=NEW_CODE),),
        "new-rights": (approved_before(PRICE, hosts=("api.coingecko.com", "evil.example.com"), energy_budget=0.5),),
        "unsigned-approval": (approved_before(PRICE, energy_budget=0.5), Around(is_signed=lambda *_: False)),
        "hostile-texts": (
            proposal(metadata=hostile, code=HOSTILE, reason=HOSTILE, emission={"action": "notify", "text": HOSTILE}),
        ),
        "equal": (proposal(report=report(equality=Equality(runs=5, compared=41, equal=41))),),
        "different": (proposal(report=report(equality=DIFFERENT, problems=("it differs",))),),
        "other-things": (proposal(tools=("shop.stock",), report=report(equality=OTHER_THINGS)),),
        "in-quarantine": (proposal(status="quarantine", report=None, request=None),),
        "failed": (
            proposal(
                status="disabled", request=None, reason="quarantine: it threw", report=report(problems=("it threw",))
            ),
        ),
        "wants-files": (proposal(**COLLECTOR, report=report(files="write")),),
        "has-files": (with_files(),),
        "active": (proposal(**PRICE, status="active", request=None, report=report()),),
    }
    found = {name: owner_view(given[0], Habit(), *given[1:]) for name, given in views.items()}
    found["summary"] = owner_summary(proposal(**PRICE, report=report()), Habit())
    found["console"] = [*found["schedule"], how_to_decide(proposal(**PRICE))]
    return {name: set_in(lines, COLUMNS) for name, lines in found.items()}


@contextmanager
def utc() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


def as_text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with utc():
        for file_name, shown in pages().items():
            (SNAPSHOTS / f"{file_name}.txt").write_text(as_text(shown), encoding="utf-8")

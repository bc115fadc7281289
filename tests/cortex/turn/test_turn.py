"""What a model gets for its calls, with a runtime that runs nothing."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from cortex import MotorCortex, ScriptedModel, ScriptedOwner, Settings, Toolbox, run_turn
from cortex.audit import Record
from cortex.contracts.events import ExecutionEnded, ExecutionStarted, Refused, Remembered, Said, ToolCalled
from cortex.loop import Conversation
from cortex.settings.sections import (
    AuditSettings,
    EnergySettings,
    ExecuteSettings,
    LoopSettings,
    MeteredSettings,
    ToolSettings,
)
from sandbox import (
    CallCount,
    Change,
    Changes,
    ErrorType,
    ExecutionError,
    ExecutionOutcome,
    Metrics,
    SandboxError,
    Tier,
    ToolError,
)
from sandbox.testing import ScriptedRuntime

TWO = ExecutionOutcome(ok=True, result=2)
TIMED_OUT = ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.TIMEOUT, "Code exceeded 5000ms limit."))
FAILED = ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.RUNTIME, "total is not defined"))
TURNED_DOWN = ExecutionOutcome(
    ok=False, error=ExecutionError(ErrorType.LIMIT, "16 executions are running"), refused=True
)

RUN = {"purpose": "sum", "code": "return 1 + 1"}


class Unasked:
    """A runtime that must not be reached."""

    async def execute(self, *arguments, **named):
        raise AssertionError("something ran")


class Endless:
    """A runtime whose code never ends."""

    def __init__(self) -> None:
        self.started = anyio.Event()

    async def execute(self, *arguments, **named):
        self.started.set()
        await anyio.sleep_forever()


def cortex(home: Path, outcomes=(), *, runtime=None, toolbox=None, owner=None, now=None, **sections):
    """A cortex whose energy stands still, unless a test says otherwise."""
    sections.setdefault("energy", EnergySettings(recharge_per_minute=0))
    runtime = runtime or ScriptedRuntime(outcomes)
    settings = Settings(home=home, **sections)
    more = {} if now is None else {"now": now}
    return MotorCortex(settings, toolbox=toolbox, owner=owner, runtime=runtime, **more)


async def one(place: MotorCortex, name: str = "core.execute", arguments=RUN) -> str:
    """One call in a turn of its own."""
    async with place, place.turn() as turn:
        return await turn.call(name, arguments)


def records(place: MotorCortex) -> list[Record]:
    """What came of everything, without the records that code was about to run, and of the hash of what is kept of it."""
    return [record for record in place.audit.records() if record.kind not in ("intent", "details")]


def kinds(place: MotorCortex) -> list[str]:
    return [record.kind for record in records(place)]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (TWO, "2"),
        (ExecutionOutcome(ok=True), "null"),
        (ExecutionOutcome(ok=True, result=""), '""'),
        (TIMED_OUT, "EXECUTION_TIMEOUT: Code exceeded 5000ms limit."),
        (FAILED, "EXECUTION_ERROR: RuntimeError: total is not defined"),
        (TURNED_DOWN, "EXECUTION_DENIED: 16 executions are running"),
    ],
)
async def test_each_outcome_has_its_string(outcome: ExecutionOutcome, text: str, tmp_path: Path):
    assert await one(cortex(tmp_path, [outcome])) == text


async def test_what_the_guard_finds_is_blocked_and_nothing_runs(tmp_path: Path):
    place = cortex(tmp_path, runtime=Unasked())
    text = await one(place, arguments={"purpose": "x", "code": "return eval('1')"})
    assert text == "EXECUTION_BLOCKED: Code contains disallowed pattern: eval"
    assert place.energy.level() == 1.0


async def test_the_guard_can_be_left_out(tmp_path: Path):
    place = cortex(tmp_path, [TWO], execute=ExecuteSettings(guard=False))
    assert await one(place, arguments={"purpose": "x", "code": "return eval('1')"}) == "2"


@pytest.mark.parametrize(
    ("tier", "asked", "given"),
    [
        ("isolated", 1, 100),
        ("isolated", 99, 100),
        ("isolated", 100, 100),
        ("isolated", 1234, 1234),
        ("isolated", 5000, 5000),
        ("isolated", 5001, 5000),
        ("isolated", -7, 100),
        ("isolated", 1e300, 5000),
        ("isolated", 150.9, 150),
        ("isolated", None, 5000),
        ("isolated", "1000", 1000),
        ("network", 5001, 5001),
        ("network", 30_001, 30_000),
        ("network", None, 30_000),
        (None, 30_000, 5000),
        ("NETWORK", "40000", 30_000),
    ],
)
async def test_a_timeout_is_clamped_and_never_refused(tier, asked, given: int, tmp_path: Path):
    runtime = ScriptedRuntime([TWO])
    assert await one(cortex(tmp_path, runtime=runtime), arguments={**RUN, "tier": tier, "timeout": asked}) == "2"
    assert runtime.requests[0].timeout_ms == given
    assert runtime.requests[0].tier == (tier or "isolated").lower()


async def test_the_range_of_timeouts_is_a_setting(tmp_path: Path):
    execute = ExecuteSettings(min_timeout_ms=300, max_timeout_isolated_ms=400, max_timeout_network_ms=500)
    runtime = ScriptedRuntime([TWO] * 4)
    for timeout, tier in ((1, "isolated"), (1000, "isolated"), (1000, "network")):
        await one(
            cortex(tmp_path, runtime=runtime, execute=execute), arguments={**RUN, "timeout": timeout, "tier": tier}
        )
    assert [request.timeout_ms for request in runtime.requests] == [300, 400, 500]


@pytest.mark.parametrize(
    "arguments",
    [
        '{"purpose": "sum", "code": "return 1 + 1", "timeout": null, "tier": null}',
        {"Purpose": "sum", "CODE": "return 1 + 1", "timeoutMs": "1000"},
        {"code": "```ts\nreturn 1 + 1\n```"},
        "return 1 + 1",
        [RUN],
    ],
)
async def test_what_weak_models_send_is_understood(arguments, tmp_path: Path):
    runtime = ScriptedRuntime([TWO])
    assert await one(cortex(tmp_path, runtime=runtime), arguments=arguments) == "2"
    assert runtime.requests[0].code == "return 1 + 1"


ODD_NAMES = ["", "core.", "core.execute.x", "__class__", "core", "a" * 10_000, "x\x1b[31m", "\ud800", 7, None]
ODD_ARGUMENTS = [
    None,
    "",
    "null",
    "[]",
    "{",
    '{"code": ',
    "\ud800",
    7,
    True,
    [],
    {},
    {"code": None},
    {"code": ""},
    {"code": " \n"},
    {"code": {"a": 1}},
    {"code": "return 1", "tier": "root"},
    {"code": "return 1", "timeout": "soon"},
    {"code": "return 1", "timeout": float("nan")},
    {"text": None},
    {1: 2},
    {"code": b"\xff"},
    object(),
]


async def test_nothing_raises_and_nothing_is_answered_with_silence(tmp_path: Path):
    place = cortex(tmp_path, runtime=ScriptedRuntime([TWO] * 1000), execute=ExecuteSettings(max_calls_per_turn=1000))
    names = [*ODD_NAMES, "core.execute", "core_execute", "core.energy", "core.say", "core.remember"]
    async with place, place.turn() as turn:
        for name in names:
            for arguments in ODD_ARGUMENTS:
                text = await turn.call(name, arguments)
                assert isinstance(text, str)
                assert text.strip()
                assert len(text) < 2_000
                text.encode()


async def test_a_fault_of_the_host_is_an_error_that_tells_no_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    class Broken:
        async def execute(self, *arguments, **named):
            raise LookupError("the password is swordfish")

    place = cortex(tmp_path, runtime=Broken())
    assert await one(place) == "EXECUTION_ERROR: InternalError: the host failed with LookupError"
    assert "swordfish" in caplog.text


async def test_a_turn_runs_code_so_often_and_no_more(tmp_path: Path):
    place = cortex(tmp_path, [TWO, TWO])
    async with place:
        async with place.turn() as turn:
            texts = [await turn.call("core.execute", RUN) for _ in range(3)]
        assert texts[2] == "EXECUTION_DENIED: core_execute runs at most 2 times in a turn; answer with what you have"
        assert place.energy.level() == pytest.approx(0.9)


async def test_three_corrections_are_not_counted_and_cost_energy(tmp_path: Path):
    place = cortex(tmp_path, [FAILED, TIMED_OUT, FAILED, FAILED, TWO])
    async with place:
        async with place.turn() as turn:
            texts = [await turn.call("core.execute", RUN) for _ in range(6)]
        assert texts[4] == "2"
        assert texts[5].startswith("EXECUTION_DENIED: core_execute runs at most 2 times in a turn")
        assert place.energy.level() == pytest.approx(0.75)


@pytest.mark.parametrize(
    "effect",
    [
        {"metrics": Metrics(tool_calls=1)},
        {"metrics": Metrics(fetches=1)},
        {"metrics": Metrics(tool_calls=1, failed_calls=1), "calls": (CallCount("tools.mail", failed=1),)},
        {"changes": Changes([Change("added", "report.txt")])},
    ],
)
async def test_a_failed_run_that_had_an_effect_is_counted(effect, tmp_path: Path):
    place = cortex(tmp_path, [replace(FAILED, **effect)], execute=ExecuteSettings(max_calls_per_turn=1))
    async with place, place.turn() as turn:
        assert (await turn.call("core.execute", RUN)).startswith("EXECUTION_ERROR")
        assert (await turn.call("core.execute", RUN)).startswith("EXECUTION_DENIED")


async def test_a_run_whose_arguments_did_not_fit_a_tool_is_a_free_correction(tmp_path: Path):
    refused = replace(FAILED, metrics=Metrics(tool_calls=1, failed_calls=1))
    place = cortex(tmp_path, [refused, refused, refused, FAILED], execute=ExecuteSettings(max_calls_per_turn=1))
    async with place, place.turn() as turn:
        texts = [await turn.call("core.execute", RUN) for _ in range(5)]
    assert [text.partition(":")[0] for text in texts] == ["EXECUTION_ERROR"] * 4 + ["EXECUTION_DENIED"]


async def test_a_path_in_place_of_a_folder_is_told(tmp_path: Path):
    with pytest.raises(TypeError, match=r"workspace takes a Folder, such as Folder\('/x'\)"):
        MotorCortex(Settings(home=tmp_path), workspace="/x")  # type: ignore[arg-type]


async def test_corrections_at_the_same_time_free_three_places_and_no_more(tmp_path: Path):
    place = cortex(tmp_path, [FAILED] * 20, execute=ExecuteSettings(max_calls_per_turn=4))
    texts: list[str] = []

    async def call(turn) -> None:
        texts.append(await turn.call("core.execute", RUN))

    async with place, place.turn() as turn:
        for _ in range(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(call, turn)
    assert sum(text.startswith("EXECUTION_ERROR") for text in texts) == 7


async def test_the_limit_of_a_turn_is_a_setting_and_the_next_turn_begins_anew(tmp_path: Path):
    place = cortex(tmp_path, [TWO] * 2, execute=ExecuteSettings(max_calls_per_turn=1))
    async with place:
        for _ in range(2):
            async with place.turn() as turn:
                assert await turn.call("core.execute", RUN) == "2"
                assert (await turn.call("core.execute", RUN)).startswith("EXECUTION_DENIED: ")


async def test_calls_at_the_same_time_do_not_pass_the_limit_together(tmp_path: Path):
    place = cortex(tmp_path, [TWO] * 2)
    texts: list[str] = []
    async with place, place.turn() as turn, anyio.create_task_group() as tasks:

        async def call() -> None:
            texts.append(await turn.call("core.execute", RUN))

        for _ in range(5):
            tasks.start_soon(call)
    assert sorted(text == "2" for text in texts) == [False, False, False, True, True]


async def test_a_refused_call_does_not_count(tmp_path: Path):
    place = cortex(tmp_path, [TURNED_DOWN, TWO, TWO])
    async with place, place.turn() as turn:
        assert (await turn.call("core.execute", {"purpose": "no code"})).startswith("EXECUTION_DENIED: ")
        assert (await turn.call("core.execute", "return eval(1)")).startswith("EXECUTION_BLOCKED: ")
        assert (await turn.call("core.execute", RUN)).startswith("EXECUTION_DENIED: ")
        assert [await turn.call("core.execute", RUN) for _ in range(2)] == ["2", "2"]


@pytest.mark.parametrize(
    ("outcome", "cost"), [(TWO, 0.05), (TIMED_OUT, 0.05), (FAILED, 0.05), (TURNED_DOWN, 0.0)], ids=str
)
async def test_whatever_ran_is_charged_and_a_refusal_is_free(outcome: ExecutionOutcome, cost: float, tmp_path: Path):
    place = cortex(tmp_path, [outcome])
    await one(place)
    assert place.energy.level() == pytest.approx(1 - cost)


async def test_below_the_floor_nothing_runs_and_the_model_learns_when_it_will(tmp_path: Path):
    energy = EnergySettings(initial_level=0.2, recharge_per_minute=0.05)
    place = cortex(tmp_path, runtime=Unasked(), energy=energy, now=lambda: 1_000_000.0)
    assert await one(place, arguments={**RUN, "tier": "network"}) == (
        "EXECUTION_DENIED: Insufficient energy for code execution. The network tier needs 0.30 and the level is 0.20; "
        "it will suffice in about 2 minutes. The isolated tier is possible now."
    )
    assert place.energy.level() == 0.2


async def test_two_cortexes_on_one_home_spend_the_same_energy(tmp_path: Path):
    first, second = cortex(tmp_path, [TWO]), cortex(tmp_path, [TWO])
    await one(first)
    await one(second)
    assert first.energy.level() == pytest.approx(0.9)
    assert second.energy.level() == pytest.approx(0.9)


METERED = EnergySettings(
    recharge_per_minute=0,
    metered=MeteredSettings(
        enabled=True, floor=0.01, ceiling=0.2, per_cpu_second=0.1, per_peak_gib=0, per_fetched_mib=0, per_tool_call=0
    ),
)


@pytest.mark.parametrize(("cpu_ms", "cost"), [(0, 0.01), (400, 0.04), (1_000_000, 0.2)])
async def test_a_metered_run_costs_what_was_measured_and_the_ledger_has_both(
    cpu_ms: float, cost: float, tmp_path: Path
):
    outcome = ExecutionOutcome(ok=True, result=2, metrics=Metrics(cpu_ms=cpu_ms))
    place = cortex(tmp_path, [outcome], energy=METERED)
    await one(place)
    entry = place.energy.entries(1)[0]
    assert (entry.reserved, entry.settled) == (0.05, pytest.approx(cost))
    assert place.energy.level() == pytest.approx(1 - cost)
    assert [record.facts["cost"] for record in records(place)] == [pytest.approx(cost)]


async def test_the_ledger_names_the_turn_and_the_code(tmp_path: Path):
    place = cortex(tmp_path, [TWO])
    async with place, place.turn() as turn:
        await turn.call("core.execute", RUN)
    entry = place.energy.entries(1)[0]
    assert entry.turn == turn.id
    assert place.audit.code(entry.code_hash) == RUN["code"]


async def test_the_line_about_energy_comes_when_a_tier_is_nearly_out_of_reach(tmp_path: Path):
    place = cortex(tmp_path, [TWO] * 2, now=lambda: 1_000_000.0, energy=EnergySettings(initial_level=0.5))
    async with place, place.turn() as turn:
        answers = [await turn.answer("core.execute", RUN) for _ in range(2)]
    assert [(answer.text, answer.note) for answer in answers] == [
        ("2", None),
        ("2", "Energy 0.40: isolated is possible, 6 runs in a row; network is possible, 1 run in a row."),
    ]


async def test_a_model_can_ask_for_prices(tmp_path: Path):
    place = cortex(tmp_path, energy=EnergySettings(initial_level=0.2, recharge_per_minute=0.05), now=lambda: 1e6)
    told = json.loads(await one(place, "core.energy", {}))
    assert told["level"] == 0.2
    assert told["tiers"]["isolated"] == {"cost": 0.05, "needs_level": 0.15, "runs_now": 2, "possible_in_s": 0}
    assert told["tiers"]["network"] == {"cost": 0.15, "needs_level": 0.3, "runs_now": 0, "possible_in_s": 120}
    assert place.energy.level() == 0.2


async def test_a_turn_can_end_in_a_message_and_a_memory(tmp_path: Path):
    place = cortex(tmp_path)
    async with place, place.turn() as turn:
        assert await turn.call("core_say", {"text": "It is $16,288.95"}) == "Said."
        assert await turn.call("core.remember", {"text": "likes round numbers"}) == "Remembered."
        assert turn.said == ["It is $16,288.95"]
    assert [entry.text for entry in place.memory.recent()] == ["likes round numbers"]


def shop() -> Toolbox:
    toolbox = Toolbox()

    @toolbox.tool(name="shop.stock")
    async def stock(item: str, at_least: int = 0) -> int:
        """How many are left."""
        if item == "caviar":
            raise ToolError("the shop has no caviar", code="unknown_item")
        if item == "secret":
            raise LookupError("swordfish")
        return max(12, at_least)

    @toolbox.tool(for_model=False)
    def for_code_only() -> str:
        return "x"

    @toolbox.tool
    def long_text(size: int) -> str:
        return "x" * size

    @toolbox.tool
    async def hang() -> None:
        await anyio.sleep_forever()

    return toolbox


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("shop.stock", {"item": "tea"}, "12"),
        ("shop_stock", '{"item": "tea", "atLeast": "20"}', "20"),
        ("shop.stock", {"item": "caviar"}, "EXECUTION_ERROR: ToolError: the shop has no caviar"),
        ("shop.stock", {"item": "secret"}, 'EXECUTION_ERROR: ToolError: Tool "shop.stock" failed with LookupError'),
        ("shop.stock", {}, "EXECUTION_DENIED: shop.stock: item: Field required. It takes item, at_least (optional)"),
        ("hang", {}, 'EXECUTION_ERROR: ToolError: Tool "hang" gave no answer within 40 ms'),
        ("long_text", {"size": 5000}, '"' + "x" * 965 + "… [truncated: 5002 bytes in all]"),
        (
            "for_code_only",
            {},
            (
                'EXECUTION_DENIED: There is no tool "for_code_only"; there are core_execute, core_energy, core_say, '
                "core_remember, shop_stock, long_text, hang"
            ),
        ),
    ],
)
async def test_a_tool_of_the_toolbox_answers_the_model(name: str, arguments, text: str, tmp_path: Path):
    # A tool that answers has time for it: on a busy machine, a thread alone may take longer than 40 ms to begin.
    tools = ToolSettings(call_timeout_ms=40 if name == "hang" else 60_000, max_result_bytes=1000)
    assert await one(cortex(tmp_path, toolbox=shop(), tools=tools), name, arguments) == text


async def test_a_policy_in_the_settings_denies_a_tool(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    place = cortex(tmp_path, toolbox=shop(), tools=ToolSettings(policies={"shop.stock": "deny", "shop.stok": "deny"}))
    assert await one(place, "shop.stock", {"item": "tea"}) == "EXECUTION_DENIED: the owner does not allow shop.stock"
    assert "shop.stok" in caplog.text


async def test_without_an_owner_what_needs_consent_is_refused(tmp_path: Path):
    place = cortex(tmp_path, toolbox=shop(), tools=ToolSettings(policies={"shop.stock": "ask"}))
    text = await one(place, "shop.stock", {"item": "tea"})
    assert text == 'EXECUTION_DENIED: shop.stock has the policy "ask", and no owner can be asked here; do without it'
    assert kinds(place) == ["owner_decision", "tool_call"]


@pytest.mark.parametrize("name", ["core.execute", "core.energy", "core.say", "core.remember"])
async def test_a_policy_holds_for_the_tools_of_the_cortex_too(name: str, tmp_path: Path):
    place = cortex(tmp_path, runtime=Unasked(), tools=ToolSettings(policies={name: "deny"}))
    text = await one(place, name, {"code": "return 1", "text": "x"})
    assert text == f"EXECUTION_DENIED: the owner does not allow {name}"
    assert kinds(place) == ["refusal"]
    assert place.energy.level() == 1.0


async def test_an_owner_can_be_asked_before_each_run_and_sees_the_code(tmp_path: Path):
    owner = ScriptedOwner([True, False])
    place = cortex(tmp_path, [TWO], owner=owner, tools=ToolSettings(policies={"core.execute": "ask"}))
    async with place, place.turn() as turn:
        texts = [await turn.call("core.execute", RUN) for _ in range(2)]
    assert texts == ["2", "EXECUTION_DENIED: the owner was asked about core.execute and said no"]
    assert [question.arguments for question in owner.questions] == [{**RUN, "tier": "isolated", "timeout": 5000}] * 2
    assert kinds(place) == ["owner_decision", "execution", "owner_decision", "refusal"]
    assert place.energy.level() == pytest.approx(0.95)


async def test_the_owner_is_not_asked_about_a_run_without_enough_energy(tmp_path: Path):
    energy = EnergySettings(initial_level=0.1, recharge_per_minute=0)
    owner = ScriptedOwner([True])
    place = cortex(tmp_path, owner=owner, energy=energy, tools=ToolSettings(policies={"core.execute": "ask"}))
    assert (await one(place)).startswith("EXECUTION_DENIED: Insufficient energy")
    assert owner.questions == []


async def test_what_a_program_sets_is_a_decision_of_the_owner(tmp_path: Path):
    place = cortex(tmp_path)
    async with place:
        place.energy.set(0.5)
    assert [record.facts["what"] for record in place.audit.records()] == ["energy set"]


async def test_everything_that_happens_is_written_down_once_and_holds_no_text_of_the_code(tmp_path: Path):
    late = replace(TIMED_OUT, metrics=Metrics(tool_calls=1))
    place = cortex(tmp_path, [TWO, late], toolbox=shop())
    async with place, place.turn() as turn:
        for name, arguments in (
            ("core.execute", RUN),
            ("core.execute", {**RUN, "timeout": 700, "expectedOutput": "a number"}),
            ("shop.stock", {"item": "tea"}),
            ("nobody", {}),
            ("core.execute", RUN),
        ):
            await turn.call(name, arguments)
    written_down = records(place)
    assert [record.kind for record in written_down] == ["execution", "execution", "tool_call", "refusal", "refusal"]
    first, second = (record.facts for record in written_down[:2])
    assert (first["intent"], first["purpose"], first["tier"], first["turn"]) == ("RUN_CODE", "sum", "isolated", turn.id)
    assert (first["reply_code"], second["reply_code"]) == ("OK", "EXECUTION_TIMEOUT")
    assert (second["timeout_ms"], second["expected_output"], second["call"]) == (700, "a number", 2)
    assert first["level"] == pytest.approx(0.95)
    assert place.audit.code(first["code_hash"]) == RUN["code"]
    assert written_down[4].facts["code_hash"] == first["code_hash"]
    written = "".join(path.read_text() for path in (tmp_path / "audit").glob("*.jsonl"))
    assert "1 + 1" not in written
    assert "tea" not in written
    assert place.audit.verify().ok


async def test_energy_that_had_to_be_repaired_is_written_down(tmp_path: Path):
    await one(cortex(tmp_path, [TWO]))
    with (tmp_path / "state" / "energy-ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"seq": 99, "lev')
    place = cortex(tmp_path, [TWO])
    await one(place)
    assert [record.facts.get("what") for record in records(place)] == [None, "energy", None]


async def test_the_disk_is_written_after_the_interval_that_the_settings_give(tmp_path: Path):
    late, soon = tmp_path / "late", tmp_path / "soon"
    place = cortex(late, [TWO], audit=AuditSettings(flush_ms=600_000))
    await one(place)
    async with cortex(soon, [TWO], audit=AuditSettings(flush_ms=1)) as place, place.turn() as turn:
        await turn.call("core.execute", RUN)
        with anyio.fail_after(60):
            while not (soon / "state" / "energy.json").exists():
                await anyio.sleep(0.01)
    async with cortex(late, [TWO], audit=AuditSettings(flush_ms=600_000)) as place, place.turn() as turn:
        before = (late / "state" / "energy.json").read_bytes()
        await turn.call("core.execute", RUN)
        assert (late / "state" / "energy.json").read_bytes() == before
    assert (late / "state" / "energy.json").read_bytes() != before


async def test_a_cancelled_run_stays_charged_and_is_written_down(tmp_path: Path):
    runtime = Endless()
    place = cortex(tmp_path, runtime=runtime)
    async with place, place.turn() as turn, anyio.create_task_group() as tasks:
        tasks.start_soon(turn.call, "core.execute", RUN)
        with anyio.fail_after(60):
            await runtime.started.wait()
        tasks.cancel_scope.cancel()
    assert [record.facts["reply_code"] for record in records(place)] == ["CANCELLED"]
    assert place.energy.level() == pytest.approx(0.95)


async def test_nothing_more_is_done_while_the_audit_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    place = cortex(tmp_path, [TWO] * 3)
    caplog.set_level(logging.CRITICAL)
    async with place, place.turn() as turn:
        assert await turn.call("core.execute", RUN) == "2"
        audit = tmp_path / "audit"
        audit.rename(tmp_path / "away")
        audit.write_text("in the way")
        refused = await turn.call("core.execute", {"code": "return 2 + 2"})
        assert refused.startswith("EXECUTION_DENIED: Cannot ")
        audit.unlink()
        (tmp_path / "away").rename(audit)
        assert await turn.call("core.execute", RUN) == "2"
    assert "recovered" in kinds(place)


async def test_a_call_cancelled_before_its_run_began_costs_nothing(tmp_path: Path):
    place = cortex(tmp_path, runtime=Unasked())
    async with place, place.turn() as turn:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await turn.call("core.execute", RUN)
    assert scope.cancelled_caught
    assert place.energy.level() == 1.0
    assert list(place.audit.records()) == []


async def test_what_was_run_is_never_called_refused(tmp_path: Path):
    class Broken:
        async def execute(self, *arguments, **named):
            raise SandboxError("the pipe broke")

    place = cortex(tmp_path, runtime=Broken())
    assert await one(place) == "EXECUTION_ERROR: InternalError: the host failed with SandboxError"
    assert [record.facts["reply_code"] for record in records(place)] == ["HOST_FAILED"]
    assert place.energy.level() == pytest.approx(0.95)


async def test_a_result_is_not_lost_because_its_cost_cannot_be_settled(tmp_path: Path):
    ledger = tmp_path / "state" / "energy-ledger.jsonl"

    class Vandal(ScriptedRuntime):
        async def execute(self, *arguments, **named):
            ledger.rename(tmp_path / "kept")
            ledger.mkdir()
            return await super().execute(*arguments, **named)

    place = cortex(tmp_path, runtime=Vandal([TWO]), energy=METERED)
    async with place, place.turn() as turn:
        assert await turn.call("core.execute", RUN) == "2"
        ledger.rmdir()
        (tmp_path / "kept").rename(ledger)
    assert [record.facts["cost"] for record in records(place)] == [0.05]
    assert place.energy.level() == pytest.approx(0.95)


async def test_code_acts_no_more_once_nothing_can_be_written_down(tmp_path: Path):
    audit = tmp_path / "audit"

    class Greedy:
        """Stands for code that calls a tool again and again while the disk refuses."""

        async def execute(self, request, tools=None, **named):
            self.codes = []
            for number in range(3):
                try:
                    await tools.call("shop.stock", {"item": "tea"})
                    self.codes.append(None)
                except ToolError as error:
                    self.codes.append(error.code)
                if number == 0:
                    audit.rename(tmp_path / "away")
                    audit.write_text("in the way")
            return TWO

    runtime = Greedy()
    place = cortex(tmp_path, runtime=runtime, toolbox=shop())
    async with place, place.turn() as turn:
        await turn.call("core.execute", RUN)
        assert runtime.codes == [None, None, "denied"]
        audit.unlink()
        (tmp_path / "away").rename(audit)


async def test_odd_arguments_are_written_down_too(tmp_path: Path):
    place = cortex(tmp_path, toolbox=shop())
    await one(place, "shop.stock", {"item": "\ud800"})
    assert kinds(place) == ["tool_call"]


async def test_a_name_that_cannot_be_read_is_answered(tmp_path: Path):
    class Nameless:
        def __str__(self) -> str:
            raise LookupError

    assert (await one(cortex(tmp_path), Nameless())).startswith("EXECUTION_ERROR: ")


async def test_code_that_is_too_long_to_run_is_not_kept(tmp_path: Path):
    place = cortex(tmp_path, [TURNED_DOWN])
    await one(place, arguments={"code": "x" * 60_000})
    facts = records(place)[0].facts
    assert len(facts["code_hash"]) == 64
    assert place.audit.code(facts["code_hash"]) is None


async def test_one_owner_is_asked_one_question_at_a_time_by_all_turns(tmp_path: Path):
    class Crowded(ScriptedOwner):
        open = most = 0

        async def decide(self, question):
            self.open += 1
            self.most = max(self.most, self.open)
            await anyio.lowlevel.checkpoint()
            self.open -= 1
            return await super().decide(question)

    owner = Crowded([True] * 3)
    place = cortex(tmp_path, toolbox=shop(), owner=owner, tools=ToolSettings(policies={"shop.stock": "ask"}))
    async with place, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(place.turn().call, "shop.stock", {"item": "tea"})
    assert (owner.most, len(owner.questions)) == (1, 3)


async def test_a_tool_that_is_denied_is_not_offered(tmp_path: Path):
    place = cortex(tmp_path, toolbox=shop(), tools=ToolSettings(policies={"core.remember": "deny", "hang": "deny"}))
    names = [tool["function"]["name"] for tool in place.openai_tools()]
    assert names == ["core_execute", "core_energy", "core_say", "shop_stock", "long_text"]


async def test_what_the_loop_refuses_is_written_down(tmp_path: Path):
    steps = [{"calls": [{"name": "core_energy"}, {"name": "core_say", "arguments": {"text": "x"}}]}, {"text": "done"}]
    place = cortex(tmp_path)
    async with place, place.turn() as turn:
        settings = LoopSettings(max_tool_calls=1)
        await run_turn(ScriptedModel(steps), turn, [], Conversation(), "hello", settings)
    assert kinds(place) == ["tool_call", "refusal"] or kinds(place) == ["refusal", "tool_call"]


async def test_a_turn_that_outlives_its_cortex_does_nothing(tmp_path: Path):
    place = cortex(tmp_path, runtime=Unasked())
    async with place:
        turn = place.turn()
    assert await turn.call("core.execute", RUN) == "EXECUTION_DENIED: The cortex is closed"
    assert place.energy.level() == 1.0


async def test_a_turn_that_has_ended_answers_no_more(tmp_path: Path):
    place = cortex(tmp_path, runtime=Unasked())
    async with place:
        async with place.turn() as turn:
            pass
        assert await turn.call("core.execute", RUN) == "EXECUTION_DENIED: This turn has ended"


async def test_a_watcher_sees_every_event_and_cannot_disturb_a_turn(tmp_path: Path):
    seen = []

    def watch(event) -> None:
        seen.append(event)
        raise RuntimeError("broken spectacles")

    place = cortex(tmp_path, [TWO], toolbox=shop())
    async with place, place.turn(watch) as turn:
        assert await turn.call("core.execute", RUN) == "2"
        for name, arguments in (
            ("shop.stock", {"item": "tea"}),
            ("core.say", "hello"),
            ("core.remember", "a fact"),
            ("nobody", None),
        ):
            await turn.call(name, arguments)
    kinds_seen = [type(event) for event in seen]
    assert kinds_seen == [ExecutionStarted, ExecutionEnded, ToolCalled, Said, Remembered, Refused]
    started, ended = seen[:2]
    assert (started.level_before, started.level, ended.level) == (1.0, pytest.approx(0.95), pytest.approx(0.95))
    assert (started.intent.payload.tier, ended.reply) == (Tier.ISOLATED, "2")


async def test_a_cortex_that_is_not_open_says_so(tmp_path: Path):
    place = cortex(tmp_path)
    with pytest.raises(RuntimeError, match="not open"):
        place.turn()
    async with place:
        with pytest.raises(RuntimeError, match="open already"):
            await place.__aenter__()


async def test_what_is_raised_inside_comes_out_as_it_is(tmp_path: Path):
    with pytest.raises(LookupError):
        async with cortex(tmp_path):
            raise LookupError

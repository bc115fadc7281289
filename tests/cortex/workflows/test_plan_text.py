"""What the owner is shown of a plan: all that it would do, nothing that deceives, and not without end."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from cortex import Folder, Settings
from cortex.workflows import energy_of_plan, picture, told_plan
from cortex.workflows.plan_text import MAX_SHOWN_PIECE, MAX_SHOWN_PIECES
from tests.cortex.workflows.support import code, decision, plan, tool

SETTINGS = Settings.model_validate(
    {"home": "/nowhere", "sandbox": {"network": {"allow": ["api.example.com", {"host": "10.0.0.1", "http": True}]}}}
)
REPORT = plan(
    tool("commits", "github.list_commits", arguments={"repo": "x"}),
    tool("issues", "github.list_issues"),
    code("group", "return context.commits.length", "commits", "issues", tools=["shop.stock"], retries=2),
    decision("sure", "group", may_replan=True, timeout_s=60),
    tool("post", "chat.post", "sure", arguments={"text": "${sure}"}, on_error="continue"),
    name="report",
)


def lines_of(text: str, start: str) -> list[str]:
    """The lines that tell one task."""
    rest = text[text.index(f"\nTask {start} ") + 1 :]
    return rest.split("\n\n")[0].splitlines()


def test_the_picture_has_a_line_for_each_task_in_its_layer():
    assert picture(REPORT) == [
        "  1 ┬ commits  tool",
        "    └ issues   tool",
        "  2 ─ group    code ← commits, issues",
        "  3 ─ sure     question ← group",
        "  4 ─ post     tool ← sure",
    ]


def test_the_owner_sees_what_each_task_would_do():
    text = told_plan(REPORT, SETTINGS, policy=lambda name: "ask" if name == "chat.post" else None).text
    assert text.startswith('Plan "report": 5 tasks in 4 layers\nEnergy: about 0.05 for 1 code task; at most 0.05')
    assert f"Hash of the plan: {REPORT.hash}" in text
    assert lines_of(text, "commits") == [
        "Task commits (layer 1): calls a tool",
        '  tool: "github.list_commits"',
        "  arguments:",
        "  | {",
        '  |  "repo": "x"',
        "  | }",
        "  after a failure: the run stops",
    ]
    assert lines_of(text, "group") == [
        "Task group (layer 2): runs code",
        "  needs: commits, issues",
        '  tools: "shop.stock"',
        "  hosts: none",
        "  limits: 30000 ms, 512 MB",
        "  files: none",
        "  after a failure: the run stops (`retries` counts only with `idempotent`)",
        "  code:",
        "  | return context.commits.length",
    ]
    assert lines_of(text, "sure") == [
        "Task sure (layer 3): asks",
        "  needs: group",
        "  answered by: the owner, also with a new plan",
        "  time: 60 s, then the answer is no",
        "  question:",
        "  | Is sure right?",
    ]
    assert '  tool: "chat.post" (the owner is asked before each call)' in lines_of(text, "post")
    assert "  after a failure: the run goes on" in lines_of(text, "post")


def test_the_owner_sees_what_a_plan_claims_to_be_safe_to_repeat():
    steps = plan(
        tool("pay", "bank.pay"),
        tool("pay_again", "bank.pay", idempotent=True),
        code("use", "return 1", tools=["bank.pay"], idempotent=True, retries=0),
        code("plain", "return 1"),
    )
    text = told_plan(steps, SETTINGS).text
    claim = "; after a crash it is repeated without asking: the plan says that this does no harm"
    assert f"  after a failure: the run stops{claim}" in lines_of(text, "pay_again")
    assert f"  after a failure: the run stops{claim}" in lines_of(text, "use")
    assert text.count(claim) == 2


def test_hosts_files_and_narrower_limits_are_told(tmp_path: Path):
    narrow = {"allowNetwork": True, "timeoutMs": 900, "heapLimitMB": 64}
    steps = plan(
        code("net", "return 1", sandbox_config=narrow, workspace="docs", intent="stock of shops"),
        code("lost", "return 1", workspace="elsewhere"),
        decision("which", by="agent"),
    )
    text = told_plan(steps, SETTINGS, folders={"docs": Folder(tmp_path, commit="auto")}).text
    assert "  hosts: api.example.com, http or https 10.0.0.1" in lines_of(text, "net")
    assert "  limits: 900 ms, 64 MB" in lines_of(text, "net")
    assert f'  files: "docs" = "{tmp_path}"; its changes are made with the checkpoint' in lines_of(text, "net")
    assert '  and up to 5 tools that fit the words "stock of shops"' in lines_of(text, "net")
    assert '  files: "elsewhere", which is not granted' in lines_of(text, "lost")
    assert "  answered by: the agent, or the owner" in lines_of(text, "which")


def test_the_energy_is_told_without_and_with_all_retries():
    steps = plan(
        code("a", "return 1"),  # one retry, as nothing is said
        code("b", "return 1", retries=3),
        code("c", "return 1", retries=3, tools=["shop.stock"]),  # not repeated
        code("d", "return 1", retries=1, sandbox_config={"allowNetwork": True}, idempotent=True),
        tool("e", "shop.stock"),
    )
    found = energy_of_plan(steps, SETTINGS.energy)
    assert (found.code_tasks, found.once, found.at_most) == (4, pytest.approx(0.3), pytest.approx(0.65))
    assert str(found) == "about 0.3 for 4 code tasks; at most 0.65 with all retries"
    metered = SETTINGS.energy.model_copy(
        update={"metered": SETTINGS.energy.metered.model_copy(update={"enabled": True})}
    )
    assert energy_of_plan(steps, metered).at_most == pytest.approx(0.25 * 9)
    assert str(energy_of_plan(plan(tool("e", "shop.stock")), metered)) == "none: it runs no code"


@pytest.mark.parametrize(
    "evil",
    [
        "return 1 //\x1b[2J\x1b[1;1H",
        "return 1 // \u202e}1 nruter",
        "a\u200bb",
        "x\r  | return 2",
        "1\n\nTask post (layer 1): calls a tool\n  tool: harmless",
        "1\u2028Energy: none",
        "1\x85Energy: none",
        "\ufeffreturn 1",
    ],
)
def test_no_text_of_the_author_controls_a_terminal_or_passes_for_a_line_of_ours(evil):
    steps = plan(
        code("a", evil, intent=evil, context={evil: evil}, tools=[evil]),
        tool("b", evil, arguments={evil: evil}),
        {**decision("c"), "ask": evil},
        name=evil[:200],
    )
    text = told_plan(steps, SETTINGS).text
    assert all(character == "\n" or character.isprintable() for character in text)
    assert not any(mark in text for mark in ("\u202e", "\u200b", "\u2028", "\x85", "\ufeff"))
    plain = [line for line in text.splitlines() if not line.startswith("  | ")]
    assert len([line for line in plain if line.startswith("Task ")]) == 3
    assert len([line for line in plain if line.startswith("Energy: ")]) == 1
    harmless = plan(code("a", "1"), tool("b", "1"), decision("c"), name="1")
    assert len(text.split("\n\n")) == len(told_plan(harmless, SETTINGS).text.split("\n\n"))


def test_a_long_code_is_shown_in_part_with_the_hash_of_the_whole():
    long = "x" * MAX_SHOWN_PIECE + "evil()"
    text = told_plan(plan(code("a", long)), SETTINGS).text
    hashed = hashlib.sha256(long.encode()).hexdigest()
    assert text.endswith(f"\n  … 6 more characters are not shown; SHA-256 of the whole: {hashed}")
    assert "evil" not in text


def test_the_largest_plan_is_told_in_bounded_text_with_a_hash_for_all_that_is_cut():
    steps = plan(*(code(f"t{at}", f"{at}\x00" + "\u200b" * 5_000, tools=["\u202e" * 60] * 5) for at in range(60)))
    text = told_plan(steps, SETTINGS).text
    assert len(text) < 12 * MAX_SHOWN_PIECES
    assert text.count("SHA-256 of the whole") >= 20
    assert len({line.split(": ")[-1] for line in text.split("\n") if "are not shown" in line}) >= 20


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_different_plans_have_different_hashes_and_the_same_plan_always_the_same(one, other):
    def told(text: str) -> tuple[str, str]:
        found = told_plan(plan(code("a", text, context={"k": text})), SETTINGS)
        assert found.hash == hashlib.sha256(found.text.encode()).hexdigest()
        return found.text, found.hash

    assert told(one) == told(one)
    assert (told(one) == told(other)) == (one == other)

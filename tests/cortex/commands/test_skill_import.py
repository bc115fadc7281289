"""A skill is taken in as a proposal: read within bounds, run by nobody, and the same as where it was exported."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cortex.commands.skill_folder import write_skill
from cortex.commands.skill_import import MAX_FILES, NoSkill, Wishes, proposal_from
from neurons import NeuronSettings, Refused, Status, rehearse
from sandbox import DenoRuntime
from tests.conftest import small
from tests.cortex.commands.test_neurons_command import shell  # noqa: F401 - a fixture
from tests.neurons.governance import Governed

HEAD = "---\nname: hello-world\ndescription: Say hello to the world\n---\n\n# Hello\n"
CODE = 'return "hello";\n'


def skill(tmp_path: Path, code: str = CODE, *, head: str = HEAD, script: str = "hello.ts") -> Path:
    folder = tmp_path / "skill"
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(head)
    (folder / "scripts" / script).write_text(code)
    return folder


def test_a_script_becomes_a_function_and_with_a_signal_or_a_schedule_a_neuron(tmp_path):
    folder = skill(tmp_path, 'emit("greeting", 1);\nemit("greeting", 2);')
    function = proposal_from(folder, Wishes(parameters='{"type": "object", "properties": {"p": {"type": "number"}}}'))
    assert (function.kind, function.name, function.purpose) == ("function", "hello-world", "Say hello to the world")
    assert function.parameters["properties"] == {"p": {"type": "number"}}
    neuron = proposal_from(folder, Wishes(on=["tick"], schedules=["every 15m", "at 09:00 mon-fri"], name="Greeter"))
    assert (neuron.kind, neuron.name, neuron.input_signals, neuron.output_signals) == (
        "neuron",
        "Greeter",
        ("tick",),
        ("greeting",),
    )
    assert [str(schedule) for schedule in neuron.schedules] == ["every 15m", "at 09:00 mon-fri"]
    network = proposal_from(folder, Wishes(hosts=["api.example.com"], tools=["shop.stock"], energy=0.1))
    assert (network.tier.value, network.hosts, network.tools, network.energy_budget) == (
        "network",
        ("api.example.com",),
        ("shop.stock",),
        0.1,
    )


def test_what_was_exported_is_the_same_code_and_policy_on_another_home(tmp_path):
    neuron = Governed().active(
        tier="network",
        hosts=["api.example.com"],
        schedules=["every 15m"],
        emission={"action": "answer", "text": "{of}"},
    )
    folder = write_skill(neuron, tmp_path / "there")
    proposal = proposal_from(folder, Wishes())
    assert (proposal.code, proposal.policy, proposal.purpose) == (neuron.code, neuron.policy, neuron.metadata.purpose)
    again = Governed().propose(proposal, max_code_bytes=10_000, source=str(folder))
    assert (again.status, again.approvals, again.metadata.author) == (Status.QUARANTINE, (), "agent")
    assert str(tmp_path) not in (write_skill(again, tmp_path / "further") / "neuron.json").read_text()


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("---\nname: \"quoted\"\ndescription: 'it''s'\n---\n", "quoted"),
        ("---\r\nname: windows\r\ndescription: x\r\n---\r\n", "windows"),
        ("\ufeff---\nlicense: MIT\ndescription: >\n  long\n  text\nname: folded\n---\n", "folded"),
    ],
)
def test_the_head_is_read_as_people_write_it(tmp_path, head, name):
    assert proposal_from(skill(tmp_path, head=head), Wishes()).name == name


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("", "does not begin with a line of ---"),
        ("---\nname: x\n", "has no end"),
        ("---\nname: x\n---\n", "has no description"),
        ("---\ndescription: x\n---\n", "has no name"),
    ],
)
def test_a_head_that_is_none_is_an_error(tmp_path, head, problem):
    with pytest.raises(NoSkill, match=problem):
        proposal_from(skill(tmp_path, head=head), Wishes())


def test_other_languages_are_refused_with_the_reason(tmp_path):
    with pytest.raises(NoSkill, match=r'no TypeScript or JavaScript file, .*: "hello\.py" is Python'):
        proposal_from(skill(tmp_path, "print(1)", script="hello.py"), Wishes())


PLAIN = {"type": "object", "properties": {}, "required": []}


def taking(required: tuple[str, ...] | None = None, **properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties if required is None else required)}


@pytest.mark.parametrize(
    ("code", "call", "parameters"),
    [
        ("export default function () { return 1; }", "return await learned_main();", PLAIN),
        ("export function main() { return 1; }", "return await main();", PLAIN),
        ("export default async function run(p: number, r = 2) { return p; }", "return await run(args.p, args.r);",
         taking(("p",), p={"type": "number"}, r={})),
        ("export const area = (w: number, h: number): number => w * h;", "return await area(args.w, args.h);",
         taking(w={"type": "number"}, h={"type": "number"})),
        ("export default ({ names, sep = ',' }: { names: string[]; sep?: string }) => names.join(sep);",
         "return await learned_main(args);",
         taking(("names",), names={"type": "array", "items": {"type": "string"}}, sep={"type": "string"})),
        ("interface In { p: number }\nfunction main(args: { p: number }) { return args.p; }\nexport { main as default };",
         "return await main(args);", taking(p={"type": "number"})),
        ("import type { A } from './a.ts';\nconst one = (x) => x;\nexport default one;\n", "return await one(args.x);",
         taking(x={})),
        ("export const help = 1;\nexport const half = (x) => x / 2;\nexport function run(x: number) { return half(x); }",
         "return await run(args.x);", taking(x={"type": "number"})),
        ("export function each(f: (a: number) => number, n: number) { return f(n); }", "return await each(args.f, args.n);",
         taking(f={}, n={"type": "number"})),
    ],
)  # fmt: skip
def test_a_module_that_exports_its_function_becomes_a_body_that_calls_it(tmp_path, code, call, parameters):
    proposal = proposal_from(skill(tmp_path, code), Wishes())
    assert proposal.code.endswith(f"\n\n{call}\n")
    assert "export" not in proposal.code
    assert proposal.parameters == {**parameters, "additionalProperties": False}


def test_the_module_of_a_neuron_gets_the_signal(tmp_path):
    folder = skill(tmp_path, 'export default async function main(signal) { emit("seen", signal.data); }')
    proposal = proposal_from(folder, Wishes(on=["tick"]))
    assert proposal.code.endswith("\n\nawait main(signal);\n")
    assert (proposal.kind, proposal.output_signals) == ("neuron", ("seen",))


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ('import fs from "node:fs";\nexport default () => 1;', '"import" in line 1 .* into the script itself'),
        ("export default 1;", '"export" in line 1'),
        ("export * from './a.ts';", '"export" in line 1'),
        ("export const a = 1;", "exports no function that could be called"),
        ("export const a = () => 1;\nexport const b = () => 2;", "exports a, b: make one of them the `export default`"),
        ("export function main([a, b]) {}", "not all names"),
        ("export function main(p", "could not be read"),
        ("export default (input) => input.p;", "give the JSON Schema with --parameters"),
        ("if (import.meta.main) run();", "import.meta"),
        ("export function main(" + "(" * 30_000, "could not be read"),
    ],
)
def test_a_module_that_cannot_be_rewritten_says_what_to_change(tmp_path, code, problem):
    with pytest.raises(NoSkill, match=problem):
        proposal_from(skill(tmp_path, code), Wishes())


@pytest.mark.deno
async def test_a_rewritten_module_passes_its_quarantine(tmp_path):
    code = (
        "export interface Loan { p: number; r: number; n: number }\n"
        "export default function payment({ p, r, n }: { p: number; r: number; n: number }): number {\n"
        "  return Math.round(p * (1 + r) ** n * 100) / 100;\n}\n"
    )
    proposal = proposal_from(skill(tmp_path, code), Wishes())
    neuron = Governed().propose(proposal, max_code_bytes=10_000)
    async with DenoRuntime(small()) as runtime:
        report = await rehearse(neuron, runtime, NeuronSettings())
    assert report.problems == ()


@pytest.mark.parametrize("code", ['import fs from "node:fs";', "export default 1;", "x();\n  import { a } from 'b';"])
def test_a_module_is_refused(tmp_path, code):
    with pytest.raises(NoSkill, match="is a module"):
        proposal_from(skill(tmp_path, code), Wishes())


def test_of_several_scripts_one_has_to_be_chosen(tmp_path):
    folder = skill(tmp_path)
    (folder / "scripts" / "other.js").write_text("return 2")
    with pytest.raises(NoSkill, match=r"choose one with --script: hello\.ts, other\.js"):
        proposal_from(folder, Wishes())
    assert proposal_from(folder, Wishes(script="other.js")).code == "return 2"
    for wrong in ("../SKILL.md", "nothing.ts", "../scripts/other.js"):
        with pytest.raises(NoSkill, match="has no TypeScript or JavaScript file"):
            proposal_from(folder, Wishes(script=wrong))


def test_links_and_special_files_are_not_read(tmp_path):
    outside = tmp_path / "outside.ts"
    outside.write_text("return 'secret'")
    folder = skill(tmp_path)
    script = folder / "scripts" / "hello.ts"
    script.unlink()
    script.symlink_to(outside)
    with pytest.raises(NoSkill, match="links are not followed"):
        proposal_from(folder, Wishes())
    script.unlink()
    os.mkfifo(script)
    with pytest.raises(NoSkill, match="is no plain file"):
        proposal_from(folder, Wishes())
    script.unlink()
    (folder / "scripts").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (folder / "scripts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoSkill, match="scripts is no folder: links are not followed"):
        proposal_from(folder, Wishes())
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to("/dev/zero")
    with pytest.raises(NoSkill, match=r"SKILL\.md cannot be read: links are not followed"):
        proposal_from(folder, Wishes())
    (folder / "SKILL.md").unlink()
    with pytest.raises(NoSkill, match=r"SKILL\.md cannot be read: there is none in this folder"):
        proposal_from(folder, Wishes())


def test_what_is_too_large_too_many_or_no_text_is_refused(tmp_path):
    folder = skill(tmp_path, "x" * 600_000)
    with pytest.raises(NoSkill, match="more than 524,288 bytes"):
        proposal_from(folder, Wishes())
    (folder / "scripts" / "hello.ts").write_bytes(b"return '\xff'")
    with pytest.raises(NoSkill, match="is not UTF-8: invalid byte at position 8"):
        proposal_from(folder, Wishes())
    for number in range(MAX_FILES):
        (folder / "scripts" / f"{number}.txt").touch()
    with pytest.raises(NoSkill, match="more than 200 files"):
        proposal_from(folder, Wishes())


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, '"x"', "3"])
def test_a_document_that_is_none_is_an_error(tmp_path, text):
    folder = skill(tmp_path)
    (folder / "neuron.json").write_text(text)
    with pytest.raises(NoSkill, match=r"neuron.json is not"):
        proposal_from(folder, Wishes())


def test_a_document_brings_neither_a_status_nor_an_approval_nor_rights_that_no_proposal_may_have(tmp_path):
    folder = write_skill(Governed().active(), tmp_path)
    document = json.loads((folder / "neuron.json").read_text())
    forged = {**document, "status": "active", "approvals": [{}], "seal": "x", "metadata": {"author": "owner"}}
    (folder / "neuron.json").write_text(json.dumps(forged))
    assert proposal_from(folder, Wishes()).purpose == "It does not say what it does"
    (folder / "neuron.json").write_text(json.dumps({**document, "tools": ["core.execute"]}))
    with pytest.raises(Refused, match="out of reach"):
        proposal_from(folder, Wishes())


def test_a_signal_or_a_schedule_makes_a_neuron_of_the_document_of_a_function(tmp_path):
    parameters = {"type": "object", "properties": {"p": {"type": "number"}}}
    function = Governed().in_quarantine(
        kind="function", inputSignals=[], outputSignals=[], parameters=parameters, returns={"type": "number"}
    )
    folder = write_skill(function, tmp_path / "there")
    assert proposal_from(folder, Wishes()).kind == "function"
    for wishes in (Wishes(on=["tick"]), Wishes(schedules=["every 15m"])):
        neuron = proposal_from(folder, wishes)
        assert (neuron.kind, neuron.parameters, neuron.returns) == ("neuron", None, None)


def test_a_function_has_no_signals(tmp_path):
    with pytest.raises(NoSkill, match="a function is called by code"):
        proposal_from(skill(tmp_path), Wishes(kind="function", on=["tick"]))
    with pytest.raises(NoSkill, match="--parameters is a JSON Schema"):
        proposal_from(skill(tmp_path), Wishes(parameters="{"))


@pytest.mark.deno
def test_an_import_runs_nothing_and_the_owner_sees_where_it_is_from(shell, tmp_path):  # noqa: F811
    touched = tmp_path / "touched"
    code = f'Deno.writeTextFileSync({str(touched)!r}, "x");\nemit("done", 1);'
    folder = skill(tmp_path, code)
    said = shell("import", str(folder), "--on", "tick")
    assert (said.code, said.err) == (0, "")
    assert "hello-world is in quarantine" in said.out
    assert not touched.exists()
    neuron = shell.neuron("hello-world")
    assert (neuron.status, neuron.report, neuron.metadata.author) == (Status.QUARANTINE, None, "agent")
    out = shell("show", "hello-world").out
    assert f"imported      from folder {folder}: other people may have written it" in out
    assert "(in the folder's words)" in out
    assert [facts["what"] for _, facts in shell.recorded()] == ["neuron propose"]
    said = shell("import", str(folder), "--on", "tick")
    assert said.code == 3
    assert 'the name "hello-world" is taken' in said.err


@pytest.mark.deno
def test_with_try_it_goes_through_quarantine_and_is_asked_about(shell, tmp_path):  # noqa: F811
    said = shell("import", str(skill(tmp_path, 'emit("done", 1);')), "--every", "15m", "--try")
    assert (said.out, said.err) == (
        "hello-world has passed its quarantine; to let it run: cortex neurons approve hello-world\n",
        "",
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--host", "api.example.com"], "api.example.com"),
        (["--kind", "neuron"], "name inputSignals"),
        (["--every", "1s"], "at least 10 seconds"),
        (["--name", "Owner"], "a name of the cortex itself"),
    ],
)
def test_a_refusal_says_why_and_changes_nothing(shell, tmp_path, options, problem):  # noqa: F811
    said = shell("import", str(skill(tmp_path)), *options)
    assert (said.code, problem in said.err) == (3, True), said.err
    assert shell.recorded() == []


def test_a_folder_that_is_not_there_is_refused(shell, tmp_path):  # noqa: F811
    said = shell("import", str(tmp_path / "nowhere"))
    assert said.code == 3
    assert "nothing was imported" in said.err

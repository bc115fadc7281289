"""Every claim in the documents that can be run is run: programs, commands, tables, links."""

from __future__ import annotations

import ast
import dataclasses
import fnmatch
import importlib
import json
import os
import re
import runpy
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from cortex import Conversations, MotorCortex, ScriptedModel, Settings, load_settings, reply, run_turn
from cortex.commands.command_line import COMMANDS, parsers
from cortex.energy import forecast
from cortex.loop import Stopped
from cortex.settings.sections import EnergySettings, Policy, StoreSettings
from cortex.tools import CORE_TOOLS, ScriptedOwner
from sandbox import (
    DenoRuntime,
    ErrorType,
    ExecutionRequest,
    HostRule,
    Layer,
    Metrics,
    NetworkPolicy,
    SandboxSettings,
    ToolDeclaration,
    ToolError,
    WorkspaceLimits,
)
from tests.documents import (
    AGENT,
    ARCHITECTURE,
    CLIENTS,
    DOCUMENTS,
    EXAMPLES,
    FILES,
    HOME,
    NETWORK,
    NEURONS,
    PAGES,
    README,
    ROOT,
    SANDBOX,
    SECURITY,
    SETTINGS,
    SHELL,
    Block,
    Document,
    assert_prints,
    commands,
    environment,
    run_python,
)
from tests.test_layers import STREETS

PROPOSAL = {
    "name": "Tried",
    "purpose": "Try it",
    "code": "state.seen = (state.seen ?? 0) + 1",
    "inputSignals": ["tick"],
    "outputSignals": [],
    "energyBudget": 0.01,
}
FOLDERS = ("sandbox", "cortex", "deno", "config", "tests", "benchmarks", "examples", "neurons")
FORBIDDEN = (
    # STYLE: words that say nothing here, and words that sell.
    *("synapse", "axon", "dopamine", "lobe", "manager", "handler", "helper", "utils"),
    *("seamless", "seamlessly", "robust", "powerful", "blazing", "effortless", "effortlessly", "cutting-edge"),
)


RUN = (README, ARCHITECTURE, SECURITY, *(page for page in PAGES.values() if page is not NEURONS))
"""Those whose blocks are programs that somebody will copy. The guide to neurons is run as one story, by a test of its own."""

MOST_WORDS = {"README.md": 1_300, "ARCHITECTURE.md": 1_500, "SECURITY.md": 2_500}

PROGRAMS = [
    block for document in RUN for block in document.blocks if (block.kind, block.follower) == ("python", "text")
]
EXCERPTS = [block for document in RUN for block in document.blocks if block.kind == "python" and block not in PROGRAMS]
CONSOLES = [block.text for document in RUN for block in document.blocks if block.kind == "console"]


SHELL_COMMANDS = [pair for console in CONSOLES for pair in commands(console)]


@pytest.mark.parametrize("name", MOST_WORDS)
def test_a_document_keeps_to_its_number_of_words(name: str):
    words = len((ROOT / name).read_text(encoding="utf-8").split())
    assert words <= MOST_WORDS[name], (
        f"{name} has {words} words: what is about one subject belongs on its page in docs/"
    )


def test_the_index_of_the_pages_names_each_page():
    named = re.findall(r"^\| \[([\w-]+)\.md\]", PAGES["README"].text, re.M)
    assert sorted(named) == sorted(PAGES.keys() - {"README"})


def test_every_document_has_something_to_run():
    assert len(PROGRAMS) >= 10
    assert len(SHELL_COMMANDS) >= 34
    assert {block.kind for document in RUN for block in document.blocks} == {
        *("python", "text", "console", "toml", "sh"),
        *("typescript", "json"),
    }
    assert all(block.text.count("$ ") for document in RUN for block in document.blocks if block.kind == "console")


class Commits:
    """A server's tool, as the program of the page about code mode finds it."""

    def declarations(self) -> list[ToolDeclaration]:
        return [ToolDeclaration("github.list_commits", server="github", tool="list_commits")]

    async def call(self, name: str, arguments: dict[str, object]) -> object:
        assert arguments == {"since": "2026-11-09"}
        return {"commits": [{"author": {"name": who}} for who in ("Ada", "Ben", "Ada")]}


@pytest.mark.deno
async def test_the_typescript_of_the_documents_runs():
    [program] = [block.text for document in RUN for block in document.blocks if block.kind == "typescript"]
    async with DenoRuntime(SandboxSettings(pool_size=0)) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=program), Commits())
    assert outcome.result == [["Ada", 2], ["Ben", 1]]


def test_the_configuration_for_clients_starts_the_server():
    texts = [json.loads(block.text) for page in (README, CLIENTS) for block in page.blocks if block.kind == "json"]
    servers = [(text.get("mcpServers") or text["servers"])["cortex"] for text in texts]
    started = [server for server in servers if "url" not in server]
    assert len(started) == 3
    server = started[0]
    assert server["command"] == "cortex"
    assert all((other["command"], other["args"]) == (server["command"], server["args"]) for other in started)
    parser, commands_ = parsers([server["args"][0]])
    importlib.import_module(f"cortex.commands.{server['args'][0]}").add_arguments(commands_[server["args"][0]])
    assert parser.parse_args(server["args"]).command == "mcp"


@pytest.mark.deno
@pytest.mark.parametrize("program", PROGRAMS, ids=[block.printed.splitlines()[0][:30] for block in PROGRAMS])
def test_a_program_of_a_document_prints_what_stands_below_it(program: Block, tmp_path: Path):
    (tmp_path / "program.py").write_text(program.text, encoding="utf-8")
    assert_prints(program.printed, run_python("program.py", folder=tmp_path))


def test_a_part_of_a_program_is_part_of_an_example():
    """So that it is run too: every other one has what it prints below it."""
    programs = [example.read_text(encoding="utf-8") for example in EXAMPLES]
    assert len(EXCERPTS) == 2
    for block in EXCERPTS:
        assert any(block.text in program for program in programs), block.text


@pytest.mark.deno
@pytest.mark.parametrize(("command", "expected"), SHELL_COMMANDS, ids=[command for command, _ in SHELL_COMMANDS])
def test_a_command_of_a_document_prints_what_stands_below_it(command: str, expected: str, tmp_path: Path):
    (tmp_path / "here").mkdir()
    if "examples" in command:
        (tmp_path / "here" / "examples").symlink_to(ROOT / "examples")
    more = {}
    if "energy" in command:
        # It comes back by itself: between two commands nothing of it, however long they take.
        (tmp_path / "sitecustomize.py").write_text("import time\ntime.time = lambda: 1_800_000_000.0\n")
        more = {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path / "here",
        env=environment(tmp_path / "data", **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert_prints(expected, done.stdout)


@pytest.mark.deno
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_its_first_lines_say_and_leaves_no_state(example: Path, tmp_path: Path):
    text = example.read_text(encoding="utf-8")
    found = re.match(r'""".*?^Prints:\n\n(.*?)"""', text, re.M | re.S)
    assert found, f"{example.name} does not say what it prints"
    expected = re.sub(r"^    ", "", found[1], flags=re.M)
    assert_prints(expected, run_python(str(example), folder=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_first_program_of_the_sandbox_is_the_first_example():
    text = (ROOT / "examples" / "first_run.py").read_text(encoding="utf-8")
    assert text.split('"""\n\n', 1)[1] == SANDBOX.blocks[0].text


class Broken:
    """The tool of the table of errors."""

    def declarations(self):
        return (ToolDeclaration("broken"),)

    async def call(self, name, arguments):
        raise ToolError("it never works")


@pytest.mark.deno
async def test_each_row_of_the_result_table_gives_what_it_says():
    async with DenoRuntime(SandboxSettings(pool_size=2)) as runtime:
        for code, expected in ((row[0].strip("`"), row[1].strip("`")) for row in SANDBOX.rows("What a result may be")):
            answer = reply(await runtime.execute(ExecutionRequest(code=code)))
            assert answer.partition("\n")[0].removeprefix("EXECUTION_ERROR: ") == expected, code


@pytest.mark.deno
async def test_each_row_of_the_error_table_gives_its_error():
    table = SANDBOX.rows("Errors")
    assert {row[0].strip("`") for row in table} == set(ErrorType)
    async with DenoRuntime(SandboxSettings(pool_size=2)) as runtime:
        for type_, _, code in table:
            # All but the endless one come to their end by themselves, on a slow machine too.
            request = ExecutionRequest(code=code.strip("`"), timeout_ms=60_000 if "while" not in code else 200)
            error = (await runtime.execute(request, Broken())).error
            assert error is not None, code
            assert error.type == type_.strip("`"), (code, error)


def numbers(model: type[BaseModel]) -> dict[str, int]:
    """The limits of a model: its fields whose default is a number."""
    defaults = {name: value for name, value in dict(model()).items() if isinstance(value, int)}
    assert defaults
    return defaults


@pytest.mark.parametrize(
    ("page", "title", "model"),
    [
        (SANDBOX, "Limits", SandboxSettings),
        (NETWORK, "Limits of the network", NetworkPolicy),
        (FILES, "Limits of a workspace", WorkspaceLimits),
        (PAGES["state"], "Limits of a store", StoreSettings),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_table_of_limits_has_each_of_them_with_its_default(page: Document, title: str, model: type[BaseModel]):
    described = {row[0].strip("`"): row[1] for row in page.rows(title)}
    defaults = numbers(model)
    assert described.keys() == defaults.keys()
    if "max_starting" in described:
        assert described.pop("max_starting") == "twice the cores"
        assert defaults["max_starting"] == 2 * (os.cpu_count() or 1)
    for name, cell in described.items():
        assert re.fullmatch(r"`[0-9_]+`", cell), (name, cell)
        assert int(cell.strip("`")) == defaults[name], name


def test_settings_that_are_not_numbers_are_described_too():
    others = {*SandboxSettings.model_fields, *NetworkPolicy.model_fields} - {
        *numbers(SandboxSettings),
        *numbers(NetworkPolicy),
    }
    assert others >= {"deno_path", "require", "allow", "secrets_file", "recorder"}
    text = SETTINGS.text + NETWORK.text
    assert [name for name in others if name not in text] == []


def test_the_table_of_layers_names_each():
    assert SANDBOX.named("The wall") == list(Layer)
    assert [row[0].strip("`") for row in SECURITY.rows("The operating system")] == list(Layer)


def test_the_table_of_metrics_names_each():
    assert SANDBOX.named("Metrics") == [field.name for field in dataclasses.fields(Metrics)]


def test_the_table_of_an_entry_names_each_part():
    assert NETWORK.named("The policy") == list(HostRule.model_fields)


def test_the_table_of_core_tools_names_each_with_its_arguments_and_ranges(tmp_path: Path):
    assert [row[0].strip("`") for row in AGENT.rows("The core tools")] == list(CORE_TOOLS)
    execute = AGENT.rows("The core tools")[0][1]
    settings = Settings().execute
    for number in (settings.min_timeout_ms, settings.max_timeout_isolated_ms, settings.max_timeout_network_ms):
        assert f" {number}" in execute
    tools = MotorCortex(Settings(home=tmp_path)).openai_tools()
    for argument in tools[0]["function"]["parameters"]["properties"]:
        assert f"`{argument}`" in execute


def test_the_table_of_energy_has_the_defaults():
    settings = EnergySettings()
    [costs, floors] = [[float(cell) for cell in row[1:]] for row in AGENT.rows("Energy")]
    tiers = forecast(1.0, settings).tiers
    assert costs == [tier.cost for tier in tiers]
    assert floors == [tier.floor for tier in tiers]
    text = AGENT.section("Energy")
    assert f"recharges {settings.recharge_per_minute:g} a minute" in text
    assert round(settings.recharge_per_minute / settings.cost_isolated) == 6
    assert "six isolated runs a minute" in text
    assert f"{Settings().audit.flush_ms} ms" in text


def test_the_numbers_of_consent_are_the_defaults():
    settings = Settings().tools
    assert (settings.owner_timeout_s, settings.max_questions_per_turn) == (120, 5)
    text = " ".join(AGENT.section("Tools and the owner's consent").split())
    assert "no answer within two minutes" in text
    assert "the sixth question of a turn" in text
    assert AGENT.named("Tools and the owner's consent") == list(get_args(Policy))


def test_each_way_in_which_a_turn_ends_is_named():
    text = AGENT.section("A loop that is ready")
    assert [name for name in get_args(Stopped) if f"`{name}`" not in text] == []


def test_the_table_of_records_names_each_kind_that_is_written():
    kinds = set()
    for path in (*(ROOT / "cortex").rglob("*.py"), *(ROOT / "neurons").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="record" | "_record" | "_write"), args=[ast.Constant(value=str(kind)), *_]
                ) if kind:
                    kinds.add(kind)
                case ast.Assign(
                    targets=[ast.Name(id="kind")],
                    value=ast.IfExp(body=ast.Constant(value=str(kind)), orelse=ast.Constant(value=str(other))),
                ):
                    kinds |= {kind, other}
    assert kinds == set(HOME.named("The audit"))


def files_in(home: Path) -> list[str]:
    found = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink() and path.name[0] != "."]
    return [name for path in found if not (name := str(path.relative_to(home))).endswith(".lock")]


@pytest.mark.deno
async def test_the_table_of_the_home_names_each_file_and_they_are_private(tmp_path: Path):
    """All but one: what is typed at a prompt needs a terminal."""
    (tmp_path / "home").mkdir(mode=0o700)
    quiet, asks = {"owner": {"console": False}}, {"policies": {"core.remember": "ask"}}
    settings = Settings(home=tmp_path / "home", sandbox={"pool_size": 0}, neurons=quiet, tools=asks)
    calls = [
        {"name": "core_execute", "arguments": {"purpose": "try", "code": "return 1"}},
        {"name": "core_execute", "arguments": {"purpose": "keep", "code": "await store.set('n', 1)"}},
        {"name": "core_remember", "arguments": {"text": "It was tried."}},
        {"name": "core_consolidate", "arguments": PROPOSAL},
    ]
    model = ScriptedModel([{"calls": calls}, {"text": "Done."}])
    owner = ScriptedOwner([True])
    async with MotorCortex(settings, owner=owner) as cortex, cortex.turn(conversation="tried") as turn:
        with Conversations(settings.home / "conversations").new() as conversation:
            await run_turn(model, turn, cortex.openai_tools(), conversation, "Try it.", settings.loop)
        kept = files_in(settings.home)
        for neuron in (None, "tried"):
            cortex.switch.turn_on("the test ends", "owner", neuron=neuron)
    kept += files_in(settings.home)
    patterns = HOME.named("The files")
    unnamed = [name for name in kept if not any(fnmatch.fnmatch(name, f"{pattern}*") for pattern in patterns)]
    assert unnamed == []
    # A program that stands by says so a moment later, and a neuron may have had a signal: perhaps, and perhaps not.
    always = [pattern for pattern in patterns if pattern not in {"state/programs/", "state/activity/*.json"}]
    missing = [pattern for pattern in always if not fnmatch.filter(kept, f"{pattern}*")]
    # The owner was told of nothing yet, has granted and typed nothing, no scripts were compared, no schedule was due.
    files = ("journal.sqlite*", "journal.steps", "journal.lock", "results/", "changes/", "logs/")
    workflows = [f"workflows/{name}" for name in files]
    told = [
        f"state/{name}"
        for name in (
            "proposals/told.json",
            "outcomes/owner.json",
            "comparisons/pairs.json",
            "autonomic/schedules.json",
            "mail/",
        )
    ]
    assert missing == [*told, "state/grants/*.json", "state/chat-history.jsonl", *workflows, "mcp.json", "mcp.lock"]
    found = [path for path in settings.home.rglob("*") if not path.is_symlink()]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in found}
    assert modes == {0o600, 0o700}


def test_replies_are_made_in_one_file():
    """As ARCHITECTURE.md says. A code with its colon is the beginning of a reply."""
    makers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "cortex").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.match(r"EXECUTION_[A-Z]+: ", node.value)
    }
    assert makers == {"cortex/contracts/replies.py"}


def test_the_tables_of_the_commands_are_what_help_says():
    """`make commands` writes them."""
    made = runpy.run_path(str(ROOT / "docs" / "generate_commands.py"))["generated"](SHELL.text)
    assert made == SHELL.text, "the tables differ from --help: make commands"
    assert re.findall(r"^## cortex (\w+)$", SHELL.text, re.M) == list(COMMANDS)


def test_the_exit_codes_are_those_of_the_command_line():
    from cortex.commands import exits

    described = {int(row[0]) for row in SHELL.rows("Exit codes")}
    assert described == {value for value in vars(exits).values() if isinstance(value, int)}


def test_the_commands_of_a_chat_are_described():
    from cortex.chat.slash import HELP

    assert [name for name in HELP if f"`{name}`" not in SHELL.section("cortex chat")] == []


def test_the_table_of_events_names_each():
    sources = [
        (ROOT / "cortex" / name).read_text(encoding="utf-8") for name in ("show/json_events.py", "chat/outputs.py")
    ]
    events = re.findall(r'"event": "(\w+)"', "".join(sources))
    assert sorted(SHELL.named("Events of a chat")) == sorted(events)


def test_the_table_of_sections_names_each():
    def sections(model: type[BaseModel], above: str = "") -> Iterator[str]:
        for name, field in model.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                yield f"[{above}{name}]"
                yield from sections(field.annotation, f"{above}{name}.")

    assert sorted(SETTINGS.named("The sections")) == sorted(["home", *sections(Settings)])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_settings_in_a_document_are_settings(document: Path, tmp_path: Path):
    blocks = re.findall(r"^```toml\n(.*?)^```$", document.read_text(encoding="utf-8"), re.M | re.S)
    for text in blocks:
        (tmp_path / "settings.toml").write_text(text, encoding="utf-8")
        load_settings(tmp_path / "settings.toml", {})


def test_the_settings_of_the_documents_mean_what_is_said(tmp_path: Path):
    def loaded(document: Document, place: int) -> Settings:
        text = [block.text for block in document.blocks if block.kind == "toml"][place]
        (tmp_path / "settings.toml").write_text(text, encoding="utf-8")
        return load_settings(tmp_path / "settings.toml", {})

    assert len(loaded(SANDBOX, 0).sandbox.require) == 5
    sandbox = loaded(SETTINGS, 1).sandbox
    assert sandbox.require == (Layer.LANDLOCK, Layer.SECCOMP)
    assert sandbox.network.allow[0].headers == {"authorization": "Bearer ${env:EXAMPLE_TOKEN}"}
    settings = loaded(SETTINGS, 0)
    assert settings.home == tmp_path / "agent"
    assert settings.tools.policies == {"shop.order": "ask"}
    assert settings.sandbox.network.allow[0].headers == {"authorization": "Bearer ${env:EXAMPLE_TOKEN}"}


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path):
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (document.parent / path).resolve() if path else document
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_uses_a_word_that_we_leave_out(document: Path):
    words = re.compile(rf"\b(?:{'|'.join(FORBIDDEN)})s?\b", re.I)
    found = words.findall(document.read_text(encoding="utf-8"))
    assert not found


def test_every_file_that_a_document_names_exists():
    """`sandbox/run/pool.py` in a text is a promise too."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for name in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w/]+(?:\.\w+)?/?)`", text):
            there = ROOT / name
            assert there.is_dir() if name.endswith("/") else there.is_file(), f"{document.name} names {name}"


def test_every_module_that_a_document_names_exists():
    """Also in diagrams, links and commands. Decisions tell of their own time, and may name what is no longer there."""
    for document in (path for path in DOCUMENTS if "adr" not in path.parts):
        text = document.read_text(encoding="utf-8")
        for name in re.findall(r"(?<![\w/.-])((?:sandbox|neurons|cortex)/[\w/]+\.py)\b", text):
            assert (ROOT / name).is_file(), f"{document.name} names {name}"


def test_every_invariant_of_the_architecture_names_a_test_that_exists():
    text = ARCHITECTURE.section("Invariants")
    named = re.findall(r"^- No .+?\n  `(tests/[\w/]+\.py)::(test_\w+)`$", text, re.M)
    assert len(named) == text.count("\n- No ") >= 15
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path} has no {test}"


def test_the_streets_of_the_architecture_are_those_that_are_enforced():
    [street] = [block.text for block in ARCHITECTURE.blocks if block.text.startswith("sandbox ")]
    for package, rooms in STREETS.items():
        [found] = re.findall(rf"^{package} +(.+?)(?=^\w|\Z)", street, re.M | re.S)
        assert tuple(room.strip() for room in found.split("→")) == rooms


@pytest.mark.parametrize(
    ("door", "document", "title"),
    [
        ("sandbox", SANDBOX, "The names of the sandbox"),
        ("neurons", NEURONS, "The names of the neurons"),
        ("cortex", AGENT, "The names of the cortex"),
    ],
    ids=["sandbox", "neurons", "cortex"],
)
def test_the_table_of_names_has_every_public_name_of_a_door_and_no_other(door: str, document: Document, title: str):
    public = importlib.import_module(door).__all__
    assert sorted(document.named(title)) == sorted(public)

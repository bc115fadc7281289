"""What is made of a habit: a neuron, or a function with the parameters that varied, ready to be proposed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from neurons import (
    DraftReader,
    Habit,
    LiteralReader,
    NeuronSettings,
    Proposal,
    RecordedRuns,
    Recording,
    drafted,
    name_of,
    recorded_runs,
    rehearse,
    schema_of_value,
)
from neurons.habits.draft import WordingRead, wording_of
from neurons.habits.draft_literals import MAX_PARAMETERS, LiteralPlace, replaced
from neurons.habits.draft_reading import read
from neurons.habits.draft_times import suggested
from neurons.habits.fingerprint import fingerprint
from neurons.habits.similarity import parameters
from neurons.pipeline.decisions import proposed
from neurons.quarantine.equality import compare
from sandbox import DenoRuntime, ExecutionRequest, Guard, Work
from tests.conftest import small
from tests.neurons.habits.answering_world import Tools, policy_of, recorded
from tests.neurons.learning_corpus import families, mild_families

MONDAY = datetime(2026, 3, 2, 9, 1, tzinfo=UTC)


def reading(code: str) -> WordingRead:
    """The tests' own code may be parsed here."""
    found = read(code)
    assert found is not None
    return wording_of(found, code)


def habit_of(*codes: str, purpose: str = "", **facts: object) -> Habit:
    """The habit that these wordings are, the newest last."""
    prints = [fingerprint(code) for code in codes]
    found = [one for one in prints if one is not None]
    given = {
        "tools": tuple(sorted({tool for one in found for tool in one.tools})),
        "hosts": tuple(sorted({host for one in found for host in one.hosts})),
        "times": (),
        **facts,
    }
    return Habit(
        id="a-habit",
        shape="",
        occurrences=len(codes),
        first_at=0.0,
        last_at=1.0,
        code=codes[-1],
        code_hashes=(),
        purpose=purpose,
        tier="network",
        parameters=parameters([one.literals for one in found]),
        told=1.0,
        codes=tuple(dict.fromkeys(reversed(codes))),
        **given,  # type: ignore[arg-type]
    )


def draft_of(*codes: str, kind=None, runs: RecordedRuns | None = None, **facts: object):
    habit = habit_of(*codes, **facts)
    return drafted(habit, [reading(code) for code in habit.codes], kind, runs or RecordedRuns())


def run(context: object = None, result: object = None, **work: float) -> Recording:
    """A recorded run with this input and result."""
    return Recording("a" * 64, 1.0, context, returns=schema_of_value(result), work=Work(**work) if work else None)


def runs_of(*recordings: Recording) -> RecordedRuns:
    return recorded_runs(recordings, NeuronSettings().cost)


def function_of(*codes: str) -> tuple[str, list[str]]:
    draft = draft_of(*codes)
    assert draft is not None
    assert draft.kind == "function"
    return draft.arguments["code"], list(draft.parameters)


@pytest.mark.parametrize(
    ("codes", "code", "names"),
    [
        (("const coin = 'btc'; return coin + 1", "const coin = 'eth'; return coin + 1"),
         "const coin = args.coin; return coin + 1", ["coin"]),
        (("return f({ days: 3 })", "return f({ days: 4 })"), "return f({ days: args.days })", ["days"]),
        (("return (await fetch('https://a.example/p?id=btc&n=1')).status", "return (await fetch('https://a.example/p?id=eth&n=1')).status"),
         "return (await fetch(`https://a.example/p?id=${args.id}&n=1`)).status", ["id"]),
        (("return (await fetch('https://a.example/users/7/posts')).status", "return (await fetch('https://a.example/users/12/posts')).status"),
         "return (await fetch(`https://a.example/users/${args.users}/posts`)).status", ["users"]),
        (("const n = 1; return (await fetch(`https://a.example/x/btc?n=${n}`)).status", "const n = 1; return (await fetch(`https://a.example/x/eth?n=${n}`)).status"),
         "const n = 1; return (await fetch(`https://a.example/x/${args.x}?n=${n}`)).status", ["x"]),
        (("const rows = [1, 2]; return rows.length", "const rows = [1, 2, 3]; return rows.length"),
         "const rows = args.rows; return rows.length", ["rows"]),
        (("const a = 1; const b = 'x'; return [a, b]", "const a = 2; const b = 'y'; return [a, b]"),
         "const a = args.a; const b = args.b; return [a, b]", ["a", "b"]),
        (("return 'été ' + f('x')", "return 'été ' + f('y')"), "return 'été ' + f(args.value)", ["value"]),
    ],
)  # fmt: skip
def test_a_literal_that_varied_becomes_a_parameter_named_after_what_it_is_given_to(codes, code, names):
    assert function_of(*codes) == (code, names)


PARCEL = "const number = '7';\nconst reply = await fetch(`https://a.example/track/${number}`);\nreturn reply.status"


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        # What a template puts in is the parameter, and not an empty text before it.
        (("const reply = await fetch('https://a.example/track/90');\nreturn reply.status", PARCEL), PARCEL.replace("'7'", "args.number")),
        # Not the part of an address that another wording puts together.
        (("const b = 'https://a.example/api'; return (await fetch(b + '/t')).status", "const b = 'https://a.example/api/t'; return (await fetch(b)).status"), None),
        # Two values of a query are not one.
        (("return (await fetch('https://a.example/p?a=1&b=2')).status", "return (await fetch('https://a.example/p?a=3&b=4')).status"), None),
        # With another coin the member would be another one, too.
        (("const d = await tools.coins.get({ id: 'eth' }); return d.eth", "const d = await tools.coins.get({ id: 'btc' }); return d.btc"), None),
        # Words around a value are wording.
        (("const d = await tools.a.b({}); return `Hi ${d.name}, pay`", "const d = await tools.a.b({}); return `Dear ${d.name}, please pay`"), None),
    ],
)  # fmt: skip
def test_what_only_looks_as_if_it_varied_is_no_parameter(codes, code):
    draft = draft_of(*codes)
    assert draft is not None
    if code is None:
        assert (draft.kind, list(draft.parameters)) == ("neuron", [])
        assert codes[-1].splitlines()[0].replace("return ", "") in draft.arguments["code"].replace("return ", "")
    else:
        assert (draft.kind, draft.arguments["code"]) == ("function", code)


def test_the_host_stays_as_it_is_written():
    codes = [f"return (await fetch('https://{host}.example/p')).ok" for host in "ab"]
    draft = draft_of(*codes, kind="function")
    assert (draft.arguments["code"], draft.parameters) == (codes[1], ())


def test_a_parameter_has_the_type_of_its_literal():
    draft = draft_of(
        "const a = 1, b = 'x', c = [1]; return [a, b, c]", "const a = 2, b = 'y', c = [2]; return [a, b, c]"
    )
    schema = draft.arguments["parameters"]
    assert {name: one["type"] for name, one in schema["properties"].items()} == {
        "a": "number",
        "b": "string",
        "c": "array",
    }
    assert schema["required"] == ["a", "b", "c"]
    assert draft.places["a"] == [[10, 11]]


@pytest.mark.parametrize(
    ("codes", "schemas"),
    [
        (("const city = 'Rome'; return f(city)", "const city = 'Bern'; return f(city)"),
         {"city": {"type": "string", "maxLength": 1_000, "examples": ["Bern"]}}),
        (("return f({ days: 3 })", "return f({ days: 4 })"), {"days": {"type": "integer", "examples": [4]}}),
        (("return f({ days: 3 })", "return f({ days: 4.5 })"), {"days": {"type": "number", "examples": [4.5]}}),
        (("return f({ price: 100 })", "return f({ price: 250 })"), {"price": {"type": "number", "examples": [250]}}),
        (("const isNew = true; return f(isNew)", "const isNew = false; return f(isNew)"),
         {"isNew": {"type": "boolean", "examples": [False]}}),
        (("const names = ['a']; return f(names)", "const names = ['b', 'c']; return f(names)"),
         {"names": {"type": "array", "items": {"type": "string"}, "examples": [["b", "c"]]}}),
        (("const rows = [{ a: 1, b: 2 }]; return f(rows)", "const rows = [{ a: 3 }, { a: 4 }]; return f(rows)"),
         {"rows": {"type": "array", "examples": [[{"a": 3}, {"a": 4}]], "items": {
             "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a"]}}}),
        (("return f([1, null])", "return f([null, null, 2])"),
         {"items": {"type": "array", "items": {"type": ["number", "null"]}, "examples": [[None, None, 2]]}}),
    ],
)  # fmt: skip
def test_a_parameter_has_the_type_and_the_latest_value_of_what_was_seen(codes, schemas):
    assert draft_of(*codes).arguments["parameters"]["properties"] == schemas


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("const TAX_RATE = @; return f(TAX_RATE)", "taxRate"),
        ("function g(amount) { return amount * 2 } return g(@)", "amount"),
        ("const g = (a, b) => a * b; return g(7, @)", "b"),
        ("class Car { constructor(used) { this.used = used } } return new Car(@).used", "used"),
        ("const among = (n) => (bill) => bill / n; return among(3)(@)", "bill"),
        ("const total = @ * 7; return total", "totalInput"),
        ("return rows.filter((row) => row.price > @)", "priceLimit"),
        ("config.rate = @; return f(config)", "rate"),
        ("const constructor = @; return f(constructor)", "value"),
    ],
)
def test_a_parameter_is_named_after_what_its_literal_is_given_to(code, name):
    _, names = function_of(code.replace("@", "31"), code.replace("@", "47"))
    assert names == [name]


def test_a_difference_behind_the_beginning_of_a_long_array_is_seen():
    rows = ", ".join(map(str, range(400)))
    assert function_of(
        f"const rows = [{rows}, 1]; return rows.at(-1)", f"const rows = [{rows}, 2]; return rows.at(-1)"
    )[1] == ["rows"]


@pytest.mark.parametrize("family", [one for one in families("tuned") if one.kind == "pure"], ids=lambda one: one.name)
def test_a_pure_script_in_other_styles_has_parameters_whichever_wording_is_the_latest(family):
    codes = [script.code for script in family.scripts]
    for turn in range(len(codes)):
        draft = draft_of(*codes[turn:], *codes[:turn], kind="function")
        assert draft is None or draft.parameters, draft.arguments["code"]
    assert draft_of(*codes, kind="function") is not None


def test_what_is_only_said_is_no_parameter():
    codes = [
        f"const n = {n}; if (n < 0) throw new Error('no {n}'); console.log('for {n}'); return n" for n in (31, 47, 58)
    ]
    assert function_of(*codes)[1] == ["n"]


def test_a_function_promises_what_all_recorded_runs_returned():
    code = "const { a } = context; return { a }"
    assert draft_of(code, runs=runs_of(run({"a": 1}, {"a": 1}), run({"a": 2}, {"a": 2}))).arguments["returns"] == {
        "type": "object",
        "properties": {"a": {"type": "number"}},
        "required": ["a"],
    }
    for runs in (runs_of(run({}, 1)), runs_of(run({}, 1), run({}, "x")), runs_of()):
        assert "returns" not in draft_of(code, runs=runs).arguments


def test_pure_code_promises_no_member_whose_name_comes_of_its_input():
    counted = [run({"text": "the cat"}, {"total": 2, "by": {"the": 1, "cat": 1}})] * 2
    code = "const by = {}; for (const w of context.text.split(' ')) by[w] = 1; return { total: 2, by }"
    assert draft_of(code, runs=runs_of(*counted)).arguments["returns"] == {
        "type": "object",
        "properties": {"total": {"type": "number"}, "by": {"type": "object"}},
        "required": ["total", "by"],
    }


def test_what_is_read_of_the_context_has_the_types_of_the_recorded_contexts():
    code = "const { rate, years = 3 } = context; return rate * years"
    runs = runs_of(run({"rate": 2.5, "years": 4}), run({"rate": 1}))
    assert draft_of(code, runs=runs).arguments["parameters"] == {
        "type": "object",
        "properties": {
            "rate": {"type": "number", "examples": [2.5]},
            "years": {"type": "integer", "examples": [4]},
        },
        "required": ["rate"],
    }


@pytest.mark.parametrize(
    ("recordings", "budget"),
    [
        ([], 0.05),
        ([run(cpu_ms=1.0)], 0.02),
        ([run(fetches=12), run(fetches=2)], 0.05),
        ([run(fetches=60, fetched_bytes=2**20)], 0.5),
        ([run(cpu_ms=1e6)], 1.0),
    ],
)
@pytest.mark.parametrize("kind", ["function", "neuron"])
def test_the_budget_is_twice_what_the_dearest_recorded_run_would_cost(recordings, budget, kind):
    code = "return (await fetch('https://a.example/price')).json()"
    assert draft_of(code, kind=kind, runs=runs_of(*recordings)).arguments["energyBudget"] == budget


def test_a_schema_that_would_be_too_large_for_a_proposal_loses_its_examples():
    codes = ["".join(f"const v{n} = '{turn}{'x' * 190}';" for n in range(8)) + "return f(v1)" for turn in (1, 2)]
    properties = draft_of(*codes).arguments["parameters"]["properties"]
    assert len(properties) == MAX_PARAMETERS
    assert all(one["type"] == "string" or "examples" in one for one in properties.values())
    many = [
        "".join(f"const v{n} = [{', '.join(f'{{ k{m}{n}: {turn} }}' for m in range(20))}];" for n in range(8))
        + "return f(v1)"
        for turn in (1, 2)
    ]
    Proposal.of(
        {"name": "Any", "purpose": "any", **{k: v for k, v in draft_of(*many).arguments.items() if k != "habit"}}
    )


def test_what_the_code_reads_of_the_context_is_what_a_function_is_called_with():
    draft = draft_of("const { rate, years: n = 3 } = context; return rate * n * context.more")
    assert draft.kind == "function"
    assert draft.arguments["code"].startswith("const context = args;\n")
    assert draft.parameters == ("rate", "years", "more")
    assert draft_of("return Object.keys(context)") is None


def test_the_value_of_the_last_line_is_returned():
    assert function_of("const a = 1;\na + 2") == ("const a = 1;\nreturn a + 2", [])
    assert function_of("const a = 1;\na + 2", "const a = 7;\na + 2") == ("const a = args.a;\nreturn a + 2", ["a"])


def test_a_look_at_the_world_is_a_neuron_that_emits_what_has_changed():
    times = tuple((MONDAY + timedelta(minutes=15 * n)).timestamp() for n in range(4))
    draft = draft_of("return (await fetch('https://a.example/price')).json()", times=times, purpose="The price of it")
    assert draft.kind == "neuron"
    given = draft.arguments
    assert (given["hosts"], given["tier"], given["tools"]) == (["a.example"], "network", [])
    assert (given["schedules"], given["emission"], given["purpose"]) == (["every 15m"], "notify", "The price of it")
    assert f'emit("{given["outputSignals"][0]}", ' in given["code"]
    for part in ("try {", "catch {", "state.emitted"):
        assert part in given["code"]


@pytest.mark.parametrize(
    "code",
    [
        "return (await fetch('https://a.example/n', { method: 'POST', body: 'x' })).status",
        "return await tools.mail.send_reply({ text: 'x' })",
        "return 1 + 1",
    ],
)
def test_what_changes_something_or_only_computes_is_a_function(code):
    assert draft_of(code).kind == "function"
    assert draft_of(code, kind="neuron").kind == "neuron"


@pytest.mark.parametrize(
    "code", ["return await store.get('x')", "display('<svg/>')", "return Deno.cwd()", "const args = 1; return args"]
)
def test_code_that_needs_what_only_a_run_has_has_no_draft(code):
    assert draft_of(code) is None


def test_a_host_is_named_as_the_code_has_it():
    code = "return [await fetch('http://127.0.0.1:8000/x'), await fetch('https://a.example:8443/y')].length"
    assert draft_of(code, hosts=("127.0.0.1", "a.example", "b.example")).arguments["hosts"] == [
        "http://127.0.0.1:8000",
        "a.example:8443",
        "b.example",
    ]


@pytest.mark.parametrize(
    ("gaps_min", "schedule"),
    [
        ([15, 14, 16], "every 15m"),
        ([60, 61, 59], "every 1h"),
        ([24 * 60, 24 * 60 + 7, 24 * 60 - 4], "at 09:00"),
        ([24 * 60, 3 * 24 * 60, 24 * 60], None),
        ([7, 100, 3_000], None),
        ([60], None),
    ],
)
def test_a_schedule_is_suggested_where_the_times_follow_a_clock(gaps_min, schedule):
    times = [MONDAY]
    for gap in gaps_min:
        times.append(times[-1] + timedelta(minutes=gap))
    found = suggested([time.timestamp() for time in times], UTC)
    assert found == (schedule or found)
    if schedule is None:
        assert found is None or found.startswith("at ")


def test_weekdays_are_seen_by_the_gap_of_a_weekend():
    days = [MONDAY + timedelta(days=n) for n in (0, 1, 2, 3, 4, 7, 8)]
    assert suggested([day.timestamp() for day in days], UTC) == "at 09:00 mon-fri"
    assert suggested([day.timestamp() for day in days[:3]], UTC) == "at 09:00"


def test_a_name_comes_from_tools_and_hosts_and_from_the_purpose_only_where_there_are_none():
    assert name_of(habit_of("return tools.shop.stock({})", purpose="What Alice has")) == "ShopStock"
    assert name_of(habit_of("return 1", purpose="the median of 12 numbers!")) == "MedianNumbers"
    assert name_of(habit_of("return 1", purpose="7 7 7")) == "LearnedHabit"


def test_no_draft_has_more_parameters_than_a_person_can_read():
    codes = ["".join(f"const v{n} = {turn}{n};" for n in range(40)) + "return 1" for turn in (1, 2)]
    _, names = function_of(*codes)
    assert len(names) == MAX_PARAMETERS


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"literals": [[0, 99, "text", "x", "", None]], "names": [], "returns": True, "last": None},
        {"literals": [[2, 1, "text", "x", "", None]], "names": [], "returns": True, "last": None},
        {"literals": [[0, 2, "code", "x", "", None]], "names": [], "returns": True, "last": None},
        {
            "literals": [[0, 2, "text", "x", "", None], [1, 2, "text", "x", "", None]],
            "names": [],
            "returns": True,
            "last": None,
        },
        {"literals": [], "names": [3], "returns": True, "last": None},
        {"literals": [], "names": [], "returns": True, "last": 50},
    ],
)
def test_an_answer_of_the_reading_process_that_fits_no_code_is_refused(found):
    with pytest.raises((ValueError, KeyError)):
        wording_of(found, "abc")


async def test_hostile_code_is_read_in_bounds():
    async with DraftReader() as reader:
        assert await reader.read("x;" * 30_000) is None
        deep = await reader.read("[" * 5_000 + "]" * 5_000)
        assert deep is None or len(deep.places) <= 200
        many = await reader.read(";".join(f"f('{'y' * 500}')" for _ in range(1_000)))
        assert many is not None
        assert len(many.places) == 200
        assert (await reader.read("return 'ok'")).places[0].text == "ok"  # it still answers


@pytest.mark.deno
async def test_drafts_of_ordinary_habits_pass_quarantine_as_they_stand():
    """Also those that would be functions, as neurons: each wording once as the latest one would take too long."""
    passed, problems = 0, []
    chosen = [one for one in [*families("tuned"), *mild_families("tuned")] if one.kind == "effectful"][::2]
    async with DenoRuntime(small()) as runtime, Guard() as guard:
        for family in chosen:
            habit = habit_of(*[script.code for script in family.scripts], purpose=family.scripts[-1].purpose)
            draft = drafted(habit, [reading(code) for code in habit.codes], "neuron")
            if draft is None or draft.kind != "neuron":
                problems.append((family.name, "no draft"))
                continue
            given = draft.named(name_of(habit)).arguments
            given = {key: value for key, value in given.items() if key != "habit"}
            proposal = Proposal.of({**given, "emission": {"action": given["emission"]}})
            neuron = proposed(proposal, "draft", habit=None, found=None, now=1.0)
            report = await rehearse(neuron, runtime, NeuronSettings(), guard=guard)
            passed += report.passed
            problems += [(family.name, problem) for problem in report.problems]
    assert passed >= 0.8 * len(chosen), problems


@pytest.mark.deno
async def test_drafts_of_pure_habits_pass_quarantine_as_functions_with_their_results():
    passed, problems = 0, []
    chosen = [one for one in [*families("tuned"), *mild_families("tuned")] if one.kind == "pure"][::2]
    async with DenoRuntime(small()) as runtime, Guard() as guard:
        for family in chosen:
            habit = habit_of(*[script.code for script in family.scripts], purpose=family.scripts[-1].purpose)
            outcomes = [
                await runtime.execute(ExecutionRequest(code=code, context=family.context or {})) for code in habit.codes
            ]
            recordings = [run(family.context, one.result, cpu_ms=one.metrics.cpu_ms) for one in outcomes if one.ok]
            draft = drafted(habit, [reading(code) for code in habit.codes], "function", runs_of(*recordings))
            if draft is None:
                problems.append((family.name, "no draft"))
                continue
            given = {key: value for key, value in draft.named(name_of(habit)).arguments.items() if key != "habit"}
            neuron = proposed(Proposal.of(given), "draft", habit=None, found=None, now=1.0)
            report = await rehearse(neuron, runtime, NeuronSettings(), guard=guard, recordings=recordings)
            passed += report.passed
            problems += [(family.name, problem) for problem in report.problems]
    assert passed >= 0.9 * len(chosen), problems


@pytest.mark.deno
async def test_drafts_do_what_the_scripts_did_where_the_answers_were_recorded():
    """Of scripts of one model on several days: most drafts also give what the recorded scripts give, on changed inputs
    too. The others differ where one wording looks at the status of an answer and another does not."""
    passed, equal, told = 0, 0, []
    chosen = [one for one in mild_families("tuned") if one.kind == "effectful"]
    async with DenoRuntime(small()) as runtime, Guard() as guard, LiteralReader() as reader:
        for family in chosen:
            codes = [script.code for script in family.scripts]
            habit = habit_of(*codes, purpose=family.scripts[-1].purpose)
            runs = [await recorded(runtime, code, habit.hosts, days) for days, code in enumerate(reversed(codes))]
            recordings = [one for one in runs if one is not None]
            assert len(recordings) == len(codes), family.name
            draft = drafted(habit, [reading(code) for code in habit.codes], None, runs_of(*recordings))
            assert draft is not None, family.name
            given = {key: value for key, value in draft.named(name_of(habit)).arguments.items() if key != "habit"}
            given |= {"emission": {"action": given["emission"]}} if "emission" in given else {}
            neuron = proposed(Proposal.of(given), "draft", habit=None, found=None, now=1.0)
            where = {"tools": Tools(), "network": policy_of(habit.hosts)}
            report = await rehearse(neuron, runtime, NeuronSettings(), guard=guard, recordings=recordings[:5], **where)
            limits = NeuronSettings.model_validate({"quarantine": {"equal_timeout_ms": 300_000, "equal_cases": 30}})
            result = await compare(neuron, runtime, limits, recordings=recordings, reader=reader, **where)
            passed += report.passed
            equal += result.compared > 0 and not result.is_different
            told += [(family.name, report.problems, result.line, result.first_difference)]
    assert passed >= 0.9 * len(chosen), told
    assert equal >= 0.7 * len(chosen), told


def with_a_hole(text: str) -> str:
    """`f("…")` with what follows `a=` as a parameter."""
    place = LiteralPlace(2, 4 + len(text), "text", text[:200], "url")
    return replaced(f'f("{text}")', [place], {0: dict.fromkeys([place.text, place.text.replace("a=1", "a=2")])}).code


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (r"/q?a=1&b=\${gone()}", r"&b=\${gone()}"),
        (r"/q?a=1&b=\`gone()", r"&b=\`gone()"),
        (r"/q?a=1&b=\\${gone()}", r"&b=\\\${gone()}"),
        ("/q?a=1&b=`${gone()}", r"&b=\`\${gone()}"),
    ],
)
def test_no_text_becomes_code_in_a_template(text, rest):
    assert with_a_hole(text) == f"f(`/q?a=${{args.a}}{rest}`)"


def test_a_text_that_is_not_wholly_known_is_left_as_it_is():
    text = f"/q?a=1&b={'x' * 200}&end"
    assert with_a_hole(text) == f'f("{text}")'

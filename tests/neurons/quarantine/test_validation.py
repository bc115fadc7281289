"""Declared against observed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from neurons.quarantine.validation import MAX_LINES, MAX_TEXT, Seen, audit, bounded, declares, of_guard, plain, quoted
from sandbox import Finding, Tier
from tests.neurons.candidates import candidate


@dataclass
class Named:
    hosts: Sequence[str] = ()
    tools: Sequence[str] = ()
    globals: Sequence[str] = ()


def seen(**changes) -> Seen:
    """All that the candidate of these tests declares, and nothing else."""
    return Seen(**{"emitted": Counter({"seen": 1}), "inputs": {"tick"}, **changes})


def test_a_candidate_that_does_what_it_declares_has_no_finding_and_no_problem():
    found = audit(candidate(), seen())
    assert (found.findings, found.problems) == ((), ())


def test_everything_declared_and_used_is_in_order():
    neuron = candidate(hosts=("*.prices.example",), tools=("clock.now",), tier=Tier.NETWORK)
    found = audit(neuron, seen(hosts={"eu.prices.example"}, tools={"clock.now"}))
    assert (found.findings, found.problems) == ((), ())


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (
            seen(emitted=Counter({"seen": 1, "other": 2})),
            'emitted "other", which is not among its output signals ("seen")',
        ),
        (
            seen(hosts={"evil.example"}),
            'asked for "evil.example", which is not among its hosts (none); it is in the isolated tier',
        ),
        (seen(tools={"mail.send"}), 'called the tool "mail.send", which is not among its tools (none)'),
    ],
)
def test_undeclared_access_that_was_observed_is_a_problem(observed, expected):
    found = audit(candidate(), observed)
    assert found.problems == (expected,)


def test_a_tool_that_the_code_names_is_used_also_when_it_was_never_reached():
    neuron = candidate(tools=("clock-1/now.utc",))
    named = Named(tools=["clock_1.now_utc", "a.b"])
    found = audit(neuron, seen(tools={"clock-1/now.utc"}), named=named)
    assert found.problems == ('its code calls the tool "a.b", which is not among its tools ("clock-1/now.utc")',)


def test_a_tool_is_known_in_each_spelling_that_code_has_for_it():
    neuron = candidate(tools=("git-hub.list-commits",))
    named = Named(tools=["gitHub.listCommits", "git_hub.list_commits", "git-hub.list-commits"])
    assert audit(neuron, seen(tools={"git-hub.list-commits"}), named=named).problems == ()


def test_a_host_that_the_code_only_names_is_a_finding():
    found = audit(candidate(), seen(), named=Named(hosts=["docs.example"]))
    assert found.problems == ()
    assert found.findings == ('its code names "docs.example", which it does not declare and cannot reach',)


@pytest.mark.parametrize(
    "code",
    [
        "if (signal.type === 'secret') emit('seen')",
        'if (signal.type != "secret") return',
        "if (signal?.type==`secret`) return",
    ],
)
def test_code_that_looks_for_signals_that_it_does_not_declare_is_rejected(code):
    assert audit(candidate(code, input_signals=("secret",)), seen(inputs={"secret"})).problems == ()
    found = audit(candidate(code), seen())
    assert found.problems == (
        'looks for signals "secret", which it does not declare: it is given only what it declares',
    )


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"input_signals": ("tick", "energy")}, 'declares the input "energy" and did nothing on it'),
        ({"output_signals": ("seen", "gone")}, 'declares the output "gone" and never emitted it'),
        (
            {"hosts": ("https://a.example/api",), "tier": Tier.NETWORK},
            'declares the host "https://a.example/api" and never asked for it',
        ),
        ({"tools": ("clock.now",)}, 'declares the tool "clock.now" and never called it'),
        ({"tier": Tier.NETWORK}, "is in the network tier and declares no host: it reaches nothing"),
    ],
)
def test_what_is_declared_and_never_used_is_a_finding(declared, expected):
    found = audit(candidate(**declared), seen())
    assert (found.findings, found.problems) == ((expected,), ())


def test_the_state_that_it_keeps_is_told():
    assert audit(candidate(), seen(state_bytes=2)).findings == ()
    assert audit(candidate(), seen(state_bytes=300)).findings == ("keeps a state, of at most 300 bytes here",)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if (Date.now() > 2e12) emit('x')", "reads the clock: at another time it may do something else than here"),
        ("if (signal.at > 2e12) emit('x')", "reads the clock: at another time it may do something else than here"),
        ("if (Math.random() > 0.999) emit('x')", "uses chance: another time it may do something else than here"),
        (
            "emit('x')\nemit('x', '\ufe0f')\n//\n// é",
            "has characters beyond ASCII, in line 2, 4: one may look like another, or be invisible",
        ),
        (
            "// é\n" * 10,
            "has characters beyond ASCII, in line 1, 2, 3, 4, 5, 6, 7, 8 and 2 more: one may look like another, or be invisible",
        ),
    ],
)
def test_the_audit_names_what_the_behaviour_could_depend_on(code, expected):
    assert audit(candidate(code), seen()).findings == (expected,)


def test_code_that_uses_fetch_in_the_isolated_tier_is_rejected():
    named = Named(globals=["fetch"])
    assert (
        audit(candidate(hosts=("a.example",), tier=Tier.NETWORK), seen(hosts={"a.example"}), named=named).problems == ()
    )
    (problem,) = audit(candidate(), seen(), named=named).problems
    assert problem.startswith("its code uses fetch, and it is in the isolated tier")


def test_unused_capabilities_of_code_that_failed_are_not_reported():
    assert audit(candidate(), Seen(), is_whole=False).findings == ()
    assert len(audit(candidate(), Seen(), is_whole=True).findings) == 2


def test_what_the_guard_finds_is_told_with_its_line():
    (problem,) = of_guard([Finding("eval", "runs text as code", 2, 1)])
    assert problem == "the guard found eval in line 2, which runs text as code"


@pytest.mark.parametrize(
    ("declared", "host", "expected"),
    [
        ("a.example", "a.example", True),
        ("A.example:8443", "a.example", True),
        ("https://a.example/api", "a.example", True),
        ("http://127.0.0.1:8080", "127.0.0.1", True),
        ("*.a.example", "x.a.example", True),
        ("*.a.example", "a.example", False),
        ("a.example", "x.a.example", False),
        ("a.example", "evila.example", False),
        ("not a host", "not a host", False),
    ],
)
def test_an_entry_covers_its_host_and_no_other(declared, host, expected):
    assert declares(declared, host) is expected


def test_texts_of_others_become_one_readable_line():
    assert plain(" a\n\tb\x1b[2J\u202e\u200b ") == "a b\\u{1b}[2J\\u{202e}\\u{200b}"
    assert plain("x" * 10_000) == "x" * (MAX_TEXT - 1) + "…"
    assert plain("x" * MAX_TEXT) == "x" * MAX_TEXT
    assert len(plain("\0" * 10_000)) == MAX_TEXT
    assert quoted([]) == "none"
    assert quoted(str(number) for number in range(10)).endswith('"7" and 2 more')


def test_a_report_has_at_most_max_lines_and_no_line_twice():
    assert bounded(["a", "b", "a"]) == ("a", "b")
    many = bounded([str(number) for number in range(100)])
    assert len(many) == MAX_LINES
    assert many[-1] == "and 77 more"

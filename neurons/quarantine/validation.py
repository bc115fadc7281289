"""Compares the capabilities that a candidate declares with those that it used in quarantine. Pure.

Undeclared access is a problem and rejects the candidate. A declared capability that was never used is a finding: the
owner reads it and may ask why it is wanted. No audit can tell what code will do once it is no longer watched; the
findings name what its behaviour could depend on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sandbox import HostRule, Tier

from ..contracts import FileNeed, file_need
from ..pipeline import covers

if TYPE_CHECKING:
    from sandbox import Finding

    from ..contracts import Neuron

MAX_TEXT = 600
MAX_LINES = 24
_MAX_NAMED = 8
_MAX_NAME = 80

_UNTRIED = "the folder was empty here, and what it does with yours was not tried"
_FILES: dict[FileNeed, str] = {
    "read": f"reads files: {_UNTRIED}",
    "write": f"reads and writes files: {_UNTRIED}",
}
_NO_WORD = re.compile(r"[^A-Za-z0-9$]+")
_SPACE = re.compile(r"\s+")
_TYPE_ASKED = re.compile(r"""\bsignal\??\.type\s?[!=]==?\s?(["'`])([^"'`\n]{1,64})\1""")
_CLOCK = re.compile(r"\bDate\b|\bperformance\b|\bTemporal\b|\bsignal\??\.at\b")
_CHANCE = re.compile(r"\bMath\??\.random\b|\bcrypto\b")


@dataclass(slots=True)
class Seen:
    """What a candidate did in all its scenarios together."""

    emitted: Counter[str] = field(default_factory=Counter)
    hosts: set[str] = field(default_factory=set)
    """Hosts that it asked for, allowed or not."""
    tools: set[str] = field(default_factory=set)
    inputs: set[str] = field(default_factory=set)
    """Signal types on which it did anything: emitted, changed its state, asked for a host or a tool."""
    files: set[str] = field(default_factory=set)
    """Operations on files that it asked for."""
    state_bytes: int = 0
    """The largest size of its state."""
    missed_requests: dict[str, None] = field(default_factory=dict)
    """Requests that were not recorded."""
    missed_tools: dict[str, None] = field(default_factory=dict)

    def absorb(self, other: Seen) -> None:
        self.emitted += other.emitted
        self.hosts |= other.hosts
        self.tools |= other.tools
        self.inputs |= other.inputs
        self.files |= other.files
        self.state_bytes = max(self.state_bytes, other.state_bytes)

    def miss(self, requests: Iterable[str], tools: Iterable[str]) -> None:
        self.missed_requests |= dict.fromkeys(requests)
        self.missed_tools |= dict.fromkeys(tools)


class Named(Protocol):
    """What the text of the code names, whether or not it was reached. A fingerprint is one."""

    @property
    def hosts(self) -> Sequence[str]: ...

    @property
    def tools(self) -> Sequence[str]: ...

    @property
    def globals(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of the audit: findings inform the owner, problems reject the candidate."""

    findings: tuple[str, ...]
    problems: tuple[str, ...]


def audit(neuron: Neuron, seen: Seen, *, named: Named | None = None, is_whole: bool = True) -> Audit:
    """Compare declared and seen capabilities. `is_whole`: no run failed. After a failure, unused capabilities are not
    reported: the code may not have got that far."""
    problems = [*_undeclared(neuron, seen)]
    findings = [*_never_used(neuron, seen)] if is_whole else []
    findings += [*_kept(seen), *_not_tried(seen)]
    if need := need_of_files(neuron, seen, named):
        findings.append(_FILES[need])
    if named is not None:
        problems += [*_named_tools(neuron, seen, named), *_named_fetch(neuron, named)]
        findings += _named_hosts(neuron, seen, named)
    findings += [*hangs_on(neuron), *_beyond_ascii(neuron)]
    return Audit(bounded(findings), bounded(problems))


def need_of_files(neuron: Neuron, seen: Seen, named: Named | None) -> FileNeed:
    """What it wants of files. A word in a comment is no wish: where the code was read, it has to use `Deno`."""
    is_only_a_word = named is not None and "Deno" not in named.globals
    return file_need("" if is_only_a_word else neuron.code, seen.files)


def of_guard(patterns: Sequence[Finding]) -> Iterator[str]:
    """Problems from what the guard found, which rejects the candidate as it does in `core.execute`."""
    for found in patterns:
        yield f"the guard found {found.pattern} in line {found.line}, which {found.why}"


def _undeclared(neuron: Neuron, seen: Seen) -> Iterator[str]:
    if types := sorted(seen.emitted.keys() - set(neuron.output_signals)):
        yield f"emitted {quoted(types)}, which is not among its output signals ({quoted(neuron.output_signals)})"
    asked = {type_ for _, type_ in _TYPE_ASKED.findall(neuron.code)}
    if types := sorted(asked - set(neuron.input_signals)):
        yield f"looks for signals {quoted(types)}, which it does not declare: it is given only what it declares"
    if hosts := _strange(seen.hosts, neuron.hosts):
        where = "; it is in the isolated tier" if neuron.tier is Tier.ISOLATED else ""
        yield f"asked for {quoted(hosts)}, which is not among its hosts ({quoted(neuron.hosts)}){where}"
    if tools := sorted(seen.tools - set(neuron.tools)):
        yield f"called the tool {quoted(tools)}, which is not among its tools ({quoted(neuron.tools)})"


def _never_used(neuron: Neuron, seen: Seen) -> Iterator[str]:
    if types := [each for each in neuron.input_signals if each not in seen.inputs]:
        yield f"declares the input {quoted(types)} and did nothing on it"
    if types := [each for each in neuron.output_signals if each not in seen.emitted]:
        yield f"declares the output {quoted(types)} and never emitted it"
    if hosts := [each for each in neuron.hosts if not any(declares(each, host) for host in seen.hosts)]:
        yield f"declares the host {quoted(hosts)} and never asked for it"
    if tools := [each for each in neuron.tools if each not in seen.tools]:
        yield f"declares the tool {quoted(tools)} and never called it"
    if neuron.tier is Tier.NETWORK and not neuron.hosts:
        yield "is in the network tier and declares no host: it reaches nothing"


def _kept(seen: Seen) -> Iterator[str]:
    if seen.state_bytes > len("{}"):
        yield f"keeps a state, of at most {seen.state_bytes} bytes here"


def _not_tried(seen: Seen) -> Iterator[str]:
    if seen.missed_requests:
        yield f"nothing was recorded for {quoted(seen.missed_requests)}: what it does with the answer was not tried"
    if seen.missed_tools:
        yield (
            f"nothing was recorded for the tool {quoted(seen.missed_tools)} with these arguments: what it does with "
            "the result was not tried"
        )


def _named_tools(neuron: Neuron, seen: Seen, named: Named) -> Iterator[str]:
    """A tool call in the code counts even if it was never reached: it can mean nothing else."""
    declared = {_as_written(tool) for tool in (*neuron.tools, *seen.tools)}
    if tools := [tool for tool in named.tools if _as_written(tool) not in declared]:
        yield f"its code calls the tool {quoted(tools)}, which is not among its tools ({quoted(neuron.tools)})"


def _named_fetch(neuron: Neuron, named: Named) -> Iterator[str]:
    if neuron.tier is Tier.ISOLATED and "fetch" in named.globals:
        yield "its code uses fetch, and it is in the isolated tier: declare the network tier and the hosts"


def _named_hosts(neuron: Neuron, seen: Seen, named: Named) -> Iterator[str]:
    """Only a finding: an address may be there to be shown, not requested."""
    if hosts := _strange(set(named.hosts) - seen.hosts, neuron.hosts):
        yield f"its code names {quoted(hosts)}, which it does not declare and cannot reach"


def hangs_on(neuron: Neuron) -> Iterator[str]:
    """What, besides signal and state, its behaviour may depend on."""
    if _CLOCK.search(neuron.code):
        yield "reads the clock: at another time it may do something else than here"
    if _CHANCE.search(neuron.code):
        yield "uses chance: another time it may do something else than here"


def _beyond_ascii(neuron: Neuron) -> Iterator[str]:
    """Lines with characters beyond ASCII, which may hide code."""
    lines = [str(number) for number, line in enumerate(neuron.code.split("\n"), 1) if not line.isascii()]
    if lines:
        more = f" and {len(lines) - _MAX_NAMED} more" if len(lines) > _MAX_NAMED else ""
        named = ", ".join(lines[:_MAX_NAMED]) + more
        yield f"has characters beyond ASCII, in line {named}: one may look like another, or be invisible"


def declares(entry: str, host: str) -> bool:
    """Whether the declared entry covers the host; what may be requested there is decided by the broker."""
    try:
        return covers(HostRule.model_validate(entry).host, host)
    except ValueError:
        return False


def _as_written(tool: str) -> str:
    """The tool's name with case and separators removed: `git-hub/list.commits` may be `tools.git_hub.list_commits` or
    `tools.gitHub.listCommits` in code, and all of them must match. A tool that is not lent cannot be called, whatever
    its name."""
    return _NO_WORD.sub("", tool).casefold()


def _strange(hosts: Iterable[str], declared: Sequence[str]) -> list[str]:
    return sorted(host for host in hosts if not any(declares(entry, host) for entry in declared))


def quoted(names: Iterable[str]) -> str:
    """`"a", "b"`, at most 8 names: a candidate chooses its own names."""
    listed = list(names)
    shown = ", ".join(f'"{plain(name, _MAX_NAME)}"' for name in listed[:_MAX_NAMED])
    more = len(listed) - _MAX_NAMED
    return f"{shown} and {more} more" if more > 0 else shown or "none"


def plain(text: str, most: int = MAX_TEXT) -> str:
    """The text as one readable line of at most `most` characters, with invisible characters spelled out."""
    line = _SPACE.sub(" ", text[: most * 2]).strip()
    line = "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in line)
    return line if len(line) <= most and len(text) <= most * 2 else f"{line[: most - 1]}…"


def bounded(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines without duplicates, at most MAX_LINES, so that a person reads them."""
    kept = [plain(line) for line in dict.fromkeys(lines)]
    if len(kept) > MAX_LINES:
        kept[MAX_LINES - 1 :] = [f"and {len(kept) - MAX_LINES + 1} more"]
    return tuple(kept)

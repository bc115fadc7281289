"""What a recorded run found around it (context, answers, time), and the same with one thing changed. Tools and network
answer from there: nothing real is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote_plus, urlsplit

from pydantic_core import from_json, to_json

from sandbox import HostRule, NetworkPolicy, Replay, ReplayedRun, ToolDeclaration, ToolError

from ..contracts import DAY_S, ToolExchange
from ..pipeline import canonical
from .mutations import Mutation, in_turn, mutations
from .rehearsed import Missed

if TYPE_CHECKING:
    from sandbox import Exchange, HostTools

    from ..contracts import Recording

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_BODY = 128 * 1024
_MAX_CALLS = 500
_MAX_URL = 4_000


@dataclass(frozen=True, slots=True)
class World:
    """What one run finds. The same for the script and for the candidate."""

    run: int
    """The number of the recorded run, from 1."""
    at: float
    context: Any
    arguments: dict[str, Any]
    exchanges: tuple[Exchange, ...] = ()
    tool_calls: tuple[ToolExchange, ...] = ()
    changed: str = ""
    """What was changed; empty for the run as it was recorded."""


@dataclass(slots=True)
class Calls:
    """What a run asked for."""

    effects: list[str] = field(default_factory=list)
    """Calls of tools, and requests that are no plain reads."""
    reads: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    """Names of tools and hosts."""

    def tool(self, name: str, arguments: dict[str, Any]) -> None:
        self.asked.add(name)
        if len(self.effects) < _MAX_CALLS:
            self.effects.append(f"{name} {_text(arguments)}")

    def request(self, method: str, url: str, digest: str | None) -> None:
        self.asked.add(urlsplit(url).hostname or "")
        what = f"{method} {_address(url)} {digest or ''}".strip()
        if method in _READS:
            if len(self.reads) < _MAX_CALLS:
                self.reads.add(what)
        elif len(self.effects) < _MAX_CALLS:
            self.effects.append(what)


class AroundRun:
    """The tools and the network of one process, which answer from one world after the other."""

    def __init__(self, tools: Sequence[str], real: HostTools | None = None) -> None:
        known = {} if real is None else {each.name: each for each in real.declarations()}
        self._declared = [known.get(name) or ToolDeclaration(name) for name in tools]
        self._missed = Missed()
        self.calls = Calls()
        self._tools: dict[str, list[ToolExchange]] = {}
        self._exchanges: list[Exchange] = []

    def enter(self, world: World) -> None:
        self.calls = Calls()
        self._exchanges = [*world.exchanges]
        self._tools = {}
        for call in world.tool_calls:
            self._tools.setdefault(call.name, []).append(call)

    def network(self, policy: NetworkPolicy) -> NetworkPolicy:
        return policy.model_copy(update={"replay": _Replayed(self), "recorder": None})

    def declarations(self) -> Sequence[ToolDeclaration]:
        return self._declared

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.tool(name, arguments)
        left = self._tools.get(name, [])
        wanted = _text(arguments)
        found = _taken([one for one in left if _text(one.arguments) == wanted] or left, left)
        if found is None:
            raise self._missed.tool(name)
        if found.error is not None:
            raise ToolError(found.error)
        return found.result

    def answer(self, method: str, url: str, digest: str | None) -> Exchange:
        self.calls.request(method, url, digest)
        like = [one for one in self._exchanges if one.method == method and _is_like(one.url, url)]
        same = [one for one in like if _address(one.url) == _address(url) and one.request_body_sha256 == digest]
        found = _taken(same or like, self._exchanges)
        if found is None or found.truncated:
            raise self._missed.request(method, url)
        return found


def policy_for(urls: Sequence[str]) -> NetworkPolicy:
    """A policy that allows the hosts of these addresses, as they were allowed when the script ran. Only a replay
    answers: nothing is sent."""
    hosts = {(parts.hostname or "", parts.port, parts.scheme == "http") for parts in map(urlsplit, urls)}
    return NetworkPolicy(
        allow=tuple(
            HostRule(host=host, ports=None if port is None else (port,), http=is_plain, private=True)
            for host, port, is_plain in sorted(hosts, key=str)
        )
    )


class _Replayed(Replay):
    def __init__(self, around: AroundRun) -> None:
        super().__init__(())
        self._around = around

    def begin(self) -> ReplayedRun:
        return _Answers(self._around)


class _Answers(ReplayedRun):
    def __init__(self, around: AroundRun) -> None:
        super().__init__(())
        self._around = around

    def answer(self, method: str, url: str, body_digest: str | None) -> Exchange:
        return self._around.answer(method, url, body_digest)


def world_of(number: int, recording: Recording, arguments: dict[str, Any]) -> World:
    return World(
        number,
        recording.at,
        recording.context,
        arguments,
        tuple(recording.exchanges),
        tuple(recording.tool_calls),
    )


Change = Callable[[Any], Iterator[Mutation]]


def changed_worlds(world: World, constants: Sequence[Any], *, may_lack: bool = False) -> Iterator[World]:
    """The world with one thing changed, in turn: the arguments, the context, an answer, the time."""
    change = partial(mutations, constants=constants, may_lack=may_lack)
    sources = [
        _with_arguments(world, change),
        _with_context(world, change),
        *(_with_result(world, number, change) for number in range(min(4, len(world.tool_calls)))),
        *(_with_body(world, number, change) for number in range(min(4, len(world.exchanges)))),
        _with_failures(world),
        _with_time(world),
    ]
    yield from in_turn(sources)


def _with_arguments(world: World, change: Change) -> Iterator[World]:
    """An argument that the context has too changes there as well."""
    for made in change(world.arguments):
        if isinstance(made.value, dict) and made.value.keys() == world.arguments.keys():
            context = world.context
            if isinstance(context, dict):
                mine = {name: made.value[name] for name in context if name in made.value}
                context = {**context, **mine}
            yield replace(world, arguments=made.value, context=context, changed=f"with {made.what}")


def _with_context(world: World, change: Change) -> Iterator[World]:
    """For what is not among the arguments, and for members left out of both."""
    if not isinstance(world.context, dict) or not world.context:
        return
    for made in change(world.context):
        if isinstance(made.value, dict):
            shared = {name: made.value[name] for name in world.arguments if name in made.value}
            # One that is missing now is missing for both; one that the context never had stays.
            kept = {n: v for n, v in world.arguments.items() if n not in world.context}
            yield replace(world, context=made.value, arguments={**kept, **shared}, changed=f"with context.{made.what}")


def _with_result(world: World, number: int, change: Change) -> Iterator[World]:
    call = world.tool_calls[number]
    for made in change(call.result):
        calls = (*world.tool_calls[:number], replace(call, result=made.value), *world.tool_calls[number + 1 :])
        yield replace(world, tool_calls=calls, changed=f"with the result of {call.name} where {made.what}")


def _with_body(world: World, number: int, change: Change) -> Iterator[World]:
    exchange = world.exchanges[number]
    if len(exchange.body) > _MAX_BODY:
        return
    try:
        body = from_json(exchange.body)
    except ValueError:
        return
    for made in change(body):
        other = exchange.model_copy(update={"body": to_json(made.value)})
        yield _with_exchange(world, number, other, f"with the answer of {_host(exchange)} where {made.what}")


def _with_failures(world: World) -> Iterator[World]:
    for number, exchange in enumerate(world.exchanges[:4]):
        for status, reason in ((500, "Internal Server Error"), (404, "Not Found"), (429, "Too Many Requests")):
            other = exchange.model_copy(update={"status": status, "reason": reason})
            yield _with_exchange(world, number, other, f"with status {status} from {_host(exchange)}")
    for number, call in enumerate(world.tool_calls[:4]):
        failed = replace(call, result=None, error="temporarily unavailable")
        calls = (*world.tool_calls[:number], failed, *world.tool_calls[number + 1 :])
        yield replace(world, tool_calls=calls, changed=f"with a failure of {call.name}")


def _with_time(world: World) -> Iterator[World]:
    for days in (1, -3, 40, 400):
        yield replace(
            world, at=world.at + days * DAY_S, changed=f"{abs(days)} days {'later' if days > 0 else 'before'}"
        )


def _with_exchange(world: World, number: int, exchange: Exchange, what: str) -> World:
    return replace(world, exchanges=(*world.exchanges[:number], exchange, *world.exchanges[number + 1 :]), changed=what)


def _host(exchange: Exchange) -> str:
    return urlsplit(exchange.url).hostname or "a server"


_Answer = TypeVar("_Answer")


def _taken(fitting: Sequence[_Answer], left: list[_Answer]) -> _Answer | None:
    """The next of those that fit; the last one stays. With other arguments than recorded both programs are given the
    same answer, and that they ask with the same arguments is compared by itself."""
    if not fitting:
        return None
    found = fitting[0]
    if len(fitting) > 1:
        left.remove(found)
    return found


def _is_like(recorded: str, asked: str) -> bool:
    one, two = urlsplit(recorded), urlsplit(asked)
    return (one.scheme, one.netloc, one.path.count("/")) == (two.scheme, two.netloc, two.path.count("/"))


def _address(url: str) -> str:
    """The address with its query in order and nothing escaped: what a part of it is escaped with is a matter of
    wording, and so is the order."""
    start, mark, query = unquote_plus(url[:_MAX_URL]).partition("?")
    return f"{start}{mark}{'&'.join(sorted(query.split('&')))}"


def _text(value: Any) -> str:
    try:
        return canonical(value).decode()
    except (ValueError, RecursionError):
        return "?"

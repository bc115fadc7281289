"""Makes the network requests for the code of one run: every request is checked, counted and limited here, and every
response is cleaned of secrets.

The code's process has no socket. It gets an answer made by the host, from which everything secret that the host added
to the request has been removed.
"""

from __future__ import annotations

import binascii
import io
import os
import sys
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from pydantic_core import to_json

from ..contracts import ToolError
from . import addresses, headers
from .bodies import Allowance, Body, FetchPace, Share
from .headers import CREDENTIALS
from .policy import is_secret
from .recording import Exchange, FetchNote, ReplayedRun
from .refusals import denied, failed, over_limit, too_slow
from .requests import Request, ServerAnswer, checked, location_of, redirected
from .secret_echoes import MARK, Redactor
from .secrets import MIN_SECRET_LENGTH, NetworkError, Vault

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpcore2

    from ..contracts import Fetch
    from .connections import Connections, Resolver
    from .policy import HostRule, NetworkPolicy
    from .recording import Recorder

USER_AGENT = "motor-cortex"
CLOSING_TIMEOUT_S = 2.0

# A redirect's own body is read to its end, to keep the connection open, only when it is at most this long.
_MAX_DRAINED_BYTES = 16 * 1024
# Each piece costs the same time, however small: a body of a million pieces takes a minute.
_MAX_PIECES = 32 * 1024
# Bytes of a body encoded as base64 at a time. A multiple of three: only the last piece has padding.
_ENCODED_AT_ONCE = 96 * 1024
_MAX_REASON = 200
_MAX_NOTED_REASON = 300
_MAX_NOTED_HOSTS = 100
# Of a response: each header is searched for secrets by itself.
_MAX_HEADERS = 512


@dataclass(frozen=True, slots=True)
class Added:
    """The headers and query that an allowlist entry adds to a request, with its secrets filled in."""

    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


class FetchBroker:
    """The network of one run. `fetch` may be called concurrently; `aclose` cancels the requests still under way.

    Raises NetworkError when the policy cannot be carried out: a secret or a file that it names is missing.
    """

    def __init__(
        self,
        policy: NetworkPolicy,
        *,
        environment: Mapping[str, str] | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._replay: ReplayedRun | None = None if policy.replay is None else policy.replay.begin()
        self._added: dict[int, Added] = {}
        self._redactor = Redactor()
        if self._replay is None:
            vault = Vault(os.environ if environment is None else environment, policy.secrets_file)
            self._added = {id(rule): _filled(rule, vault) for rule in policy.allow}
            self._redactor = Redactor(vault.used, vault.values)
        self._connections: Connections | None = None
        self._connecting = anyio.Lock()
        self._closed = False
        self._under_way: set[anyio.CancelScope] = set()
        self._all_ended = anyio.Event()
        self.max_calls = 2 * policy.max_requests + 1_000
        """A run that makes more calls than this ignores its errors, and is ended."""
        self.requests = 0
        """Number of requests sent, or answered by a replay."""
        self.hosts: dict[str, None] = {}
        """Hosts that the code asked for, allowed or not, in order."""
        self._allowance = Allowance(policy.max_total_bytes)

    def renew(self) -> None:
        """Reset the counts and keep the connections: for a resident program, the limits apply to each signal."""
        self.requests = 0
        self._allowance = Allowance(self._policy.max_total_bytes)

    @property
    def received_bytes(self) -> int:
        """Bytes of bodies, after decompression."""
        return self._allowance.received_bytes

    async def fetch(self, call: Fetch) -> bytes:
        """Make one fetch; return the response as JSON. Raises ToolError for every refusal and failure."""
        if self._is_closed():
            raise failed("Cannot fetch: the run has ended")
        scope = anyio.CancelScope(deadline=anyio.current_time() + self._policy.request_timeout_ms / 1000)
        self._under_way.add(scope)
        try:
            with scope, FetchPace() as pace:
                return await self._fetch(call, pace)
        except ToolError as error:
            # No secret may leave in an error, nor in a log: so redact the message, and drop the cause (`from None`),
            # which may quote the server.
            raise ToolError(self._redactor.text(str(error)), code=error.code, retryable=error.retryable) from None
        finally:
            self._under_way.discard(scope)
            if self._is_closed() and not self._under_way:
                self._all_ended.set()
        if self._is_closed():
            raise failed("Cannot fetch: the run has ended")
        raise too_slow(f"The fetch took longer than {self._policy.request_timeout_ms} ms")

    async def aclose(self) -> None:
        """Cancel the requests under way and close every connection. Never raises."""
        self._closed = True
        for scope in self._under_way:
            scope.cancel()
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
            if self._under_way:
                await self._all_ended.wait()
            if self._connections is not None:
                await self._connections.aclose()

    def _is_closed(self) -> bool:
        return self._closed

    async def _fetch(self, call: Fetch, pace: FetchPace) -> bytes:
        if self._policy.recorder is None:
            return await self._followed(call, pace, None)
        hop = _Hop(call.method[:32], call.url[: self._policy.max_url_bytes], self._policy.recorder, self._redactor.text)
        try:
            return await self._followed(call, pace, hop)
        except ToolError as error:
            hop.end(refused=f"{error.code}: {error}")
            raise
        except BaseException:
            hop.end(refused="timeout: it took too long, or the code or the run gave it up")
            raise

    async def _followed(self, call: Fetch, pace: FetchPace, hop: _Hop | None) -> bytes:
        request = checked(call, self._policy)
        hops = 0
        while True:
            if hop is not None:
                hop.begin(request)
            self._note_host(request.target.host)
            rule = self._policy.rule_for(request.method, request.target)
            answer = await self._exchange(rule, request, pace, follows=call.redirect != "manual")
            if hop is not None:
                hop.end(answer)
            location = answer.location
            if location is None or call.redirect == "manual":
                return await self._result(request, answer, pace, redirected=hops > 0)
            if call.redirect == "error":
                raise failed("The server redirects, and the request said that it must not")
            hops += 1
            if hops > self._policy.max_redirects:
                raise failed(f"The server redirects more than {self._policy.max_redirects} times")
            request = self._next(request, rule, answer.status, location)

    def _note_host(self, host: str) -> None:
        if len(self.hosts) < _MAX_NOTED_HOSTS:
            self.hosts[host] = None

    def _next(self, request: Request, rule: HostRule, status: int, location: str) -> Request:
        after = redirected(request, status, location, self._policy.max_url_bytes)
        if after.target.origin == request.target.origin:
            # Servers repeat the query in redirects: drop the entry's parameters, which the host adds again.
            return replace(after, target=after.target.without_query(frozenset(rule.query)))
        # Also check the text as the server wrote it: parsing makes a host lower case.
        if self._redactor.holds(str(after.target)) or self._redactor.holds(location):
            raise denied("Cannot follow a redirect: it would carry a secret to another host")
        return after

    async def _exchange(self, rule: HostRule, request: Request, pace: FetchPace, *, follows: bool) -> ServerAnswer:
        if self.requests >= self._policy.max_requests:
            raise over_limit(f"A run may send at most {self._policy.max_requests} requests")
        self.requests += 1
        if self._replay is not None:
            answer = self._replayed(self._replay, request)
        else:
            answer = await self._send(rule, request, pace, follows=follows)
            answer = await self._cleaned(answer, pace)
        if self._policy.recorder is not None:
            self._policy.recorder.add(self._recorded(rule, request, answer))
        return answer

    async def _send(self, rule: HostRule, request: Request, pace: FetchPace, *, follows: bool) -> ServerAnswer:
        connections = self._connections or await self._connected()
        import httpcore2  # noqa: PLC0415 - loaded since the line before

        from .connections import WireLimit, quiet  # noqa: PLC0415 - likewise

        host = request.target.host
        was_quiet = quiet.set(True)
        try:
            response = await connections.send(self._on_the_wire(rule, request), private=rule.private)
            try:
                return await self._read(response, request, pace, follows=follows)
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_TIMEOUT_S):
                    await response.aclose()
        except WireLimit as error:
            raise over_limit(f"The answer of {host} was not read: {error}") from error
        except httpcore2.ConnectError as error:
            raise failed(f"Cannot connect to {host}: {self._reason(error)}") from error
        except (httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
            # Do not show the engine's message: it quotes the server, which may quote the request.
            if "disconnected" in str(error):
                raise failed(f"{host} hung up before it answered", retryable=True) from error
            raise failed(f"{host} does not speak HTTP as it should") from error
        except (httpcore2.NetworkError, OSError, anyio.BrokenResourceError) as error:
            raise failed(f"The connection to {host} broke: {self._reason(error)}", retryable=True) from error
        finally:
            quiet.reset(was_quiet)

    def _on_the_wire(self, rule: HostRule, request: Request) -> httpcore2.Request:
        import httpcore2  # noqa: PLC0415 - loaded once a request is sent

        added = self._added[id(rule)]
        lines = [("host", request.target.authority)]
        lines += self._policy.passing(request.headers, rule, request.target)
        lines += added.headers.items()
        given = {name for name, _ in lines}
        lines += [pair for pair in (("accept", "*/*"), ("user-agent", USER_AGENT)) if pair[0] not in given]
        lines.append(("accept-encoding", "gzip, deflate"))
        if request.body is not None or request.method in {"POST", "PUT", "PATCH"}:
            lines.append(("content-length", str(len(request.body or b""))))
        target = request.target.with_query(dict(added.query))
        return httpcore2.Request(
            request.method.encode(),
            httpcore2.URL(
                scheme=target.scheme.encode(),
                host=target.host.encode(),
                port=target.port,
                target=target.path_and_query.encode(),
            ),
            headers=[(name.encode(), value.encode("latin-1")) for name, value in lines],
            content=request.body or b"",
        )

    async def _read(
        self, response: httpcore2.Response, request: Request, pace: FetchPace, *, follows: bool
    ) -> ServerAnswer:
        if response.status == 101:
            raise failed(f"{request.target.host} wants to speak another protocol than HTTP")
        if len(response.headers) > _MAX_HEADERS:
            raise over_limit(f"The answer has more than {_MAX_HEADERS} headers")
        has_body = request.method != "HEAD" and response.status not in {204, 205, 304}
        encodings = headers.values_of(response.headers, b"content-encoding") if has_body else []
        answer = ServerAnswer(
            response.status,
            response.extensions.get("reason_phrase", b""),
            headers.shown(response.headers, has_body=has_body),
            location=location_of(response.status, response.headers),
        )
        length = headers.length_of(response.headers) if has_body else 0
        if follows and answer.location is not None:
            # A short body is read to its end, which keeps the connection open; an unread long one closes it.
            if length is not None and length <= _MAX_DRAINED_BYTES:
                await self._collect(response, Body((), _MAX_DRAINED_BYTES), length, pace)
            return answer
        body = Body(encodings, self._policy.max_response_bytes)
        await self._collect(response, body, length or 0, pace)
        return replace(answer, body=body.whole())

    async def _collect(self, response: httpcore2.Response, body: Body, length: int, pace: FetchPace) -> None:
        # Allow for the framing of chunks; a body of nothing but framing is an attack.
        response.extensions["network_stream"].allow(8 * self._policy.max_response_bytes + 64 * 1024)
        body.expect(length)
        pieces = 0
        with Share(self._allowance, length) as share:
            await pace.grow(length)
            async with aclosing(response.aiter_stream()) as chunks:
                async for chunk in chunks:
                    pieces += 1
                    if pieces > _MAX_PIECES:
                        raise over_limit(f"The answer comes in more than {_MAX_PIECES} pieces")
                    # Yield here: a hostile body may come in many pieces without a single wait.
                    await pace.turn()
                    for size in body.take(chunk):
                        share.count(size)
                        await pace.grow(body.size)
                        await pace.turn()

    async def _cleaned(self, answer: ServerAnswer, pace: FetchPace) -> ServerAnswer:
        clean = self._redactor
        lines = answer.headers
        # Check all at once first, since there is hardly ever a secret to find.
        if clean.holds_any(part for line in lines for part in line):
            lines = []
            for name, value in answer.headers:
                await pace.turn()
                if not clean.holds_any([name]):
                    lines.append((name, clean.data(value)))
        body = await clean.body(answer.body, pace.turn)
        return replace(answer, reason=clean.data(answer.reason), headers=lines, body=body)

    def _replayed(self, replay: ReplayedRun, request: Request) -> ServerAnswer:
        exchange = replay.answer(request.method, str(request.target), request.digest)
        if len(exchange.body) > self._policy.max_response_bytes:
            raise over_limit(f"The answer has more than {self._policy.max_response_bytes} bytes")
        with Share(self._allowance, len(exchange.body)) as share:
            share.count(len(exchange.body))
        lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in exchange.headers]
        location = location_of(exchange.status, lines)
        return ServerAnswer(exchange.status, exchange.reason.encode("latin-1"), lines, exchange.body, location)

    def _recorded(self, rule: HostRule, request: Request, answer: ServerAnswer) -> Exchange:
        clean = self._redactor.text
        passing = self._policy.passing(request.headers, rule, request.target)
        sent = [(name, clean(value)) for name, value in passing]
        sent += [(name, MARK if is_secret(name, value) else value) for name, value in rule.headers.items()]
        return Exchange(
            method=request.method,
            url=clean(str(request.target)),
            request_headers=tuple(sent),
            request_body_sha256=request.digest,
            status=answer.status,
            reason=answer.reason.decode("latin-1"),
            headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers),
            body=answer.body,
        )

    async def _result(self, request: Request, answer: ServerAnswer, pace: FetchPace, *, redirected: bool) -> bytes:
        head = {
            "url": self._redactor.text(str(request.target)),
            "status": answer.status,
            "statusText": answer.reason.decode("latin-1"),
            "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in answer.headers],
        }
        # The body may be megabytes, and base64 is valid in JSON: insert it, do not encode it a second time.
        result = io.BytesIO()
        result.write(to_json(head)[:-1] + b',"body":"')
        body = memoryview(answer.body)
        for at in range(0, len(body), _ENCODED_AT_ONCE):
            await pace.turn()
            result.write(binascii.b2a_base64(body[at : at + _ENCODED_AT_ONCE], newline=False))
        result.write(b'","redirected":true}' if redirected else b'","redirected":false}')
        return result.getvalue()

    def _reason(self, error: BaseException) -> str:
        # Redact before cutting: half of a secret would not be found.
        return self._redactor.text(str(error) or type(error).__name__)[:_MAX_REASON]

    async def _connected(self) -> Connections:
        async with self._connecting:
            if self._connections is None:
                is_loaded = f"{__package__}.connections" in sys.modules
                self._connections = self._connect() if is_loaded else await anyio.to_thread.run_sync(self._connect)
            return self._connections

    def _connect(self) -> Connections:
        # The first time in a thread: the import and the system's certificates take a fifth of a second.
        from .connections import Connections  # noqa: PLC0415 - a run without a fetch need not pay for it

        try:
            return Connections(
                ca_file=self._policy.ca_file,
                resolver=self._resolver,
                is_denied=self._is_denied_address,
                max_connections=self._policy.max_connections,
                max_head_bytes=2 * self._policy.max_header_bytes,
            )
        except OSError as error:
            raise failed(
                f"Cannot fetch: the certificates of the policy cannot be read ({type(error).__name__})"
            ) from error

    def _is_denied_address(self, address: str, port: int) -> bool:
        """Whether the denylist has this address: it stays denied under every host name. Entries with methods or paths
        apply only to the name they spell."""
        whole = (rule for rule in self._policy.deny if rule.methods is None and rule.paths is None)
        return any(addresses.same(rule.host, address) and (rule.ports is None or port in rule.ports) for rule in whole)


class _Hop:
    """Notes each request of one fetch for a recorder: first as the code wrote it, then as it was sent."""

    def __init__(self, method: str, url: str, recorder: Recorder, clean: Callable[[str], str]) -> None:
        self._method = method
        self._url = url
        self._recorder = recorder
        self._clean = clean
        self._from: str | None = None
        self._began: float | None = time.perf_counter()

    def begin(self, request: Request) -> None:
        if self._began is None:  # the one before was answered by a redirect
            self._from, self._began = self._url, time.perf_counter()
        self._method, self._url = request.method, str(request.target)

    def end(self, answer: ServerAnswer | None = None, refused: str | None = None) -> None:
        """Note it once. A refusal after the answer, as of a redirect too many, is noted as one of its own."""
        now = time.perf_counter()
        began = now if self._began is None else self._began
        self._began = None
        status, size = (None, 0) if answer is None else (answer.status, len(answer.body))
        # Cleaned before it is cut: half a secret would not be found.
        why = None if refused is None else self._clean(refused)[:_MAX_NOTED_REASON]
        came_from = None if self._from is None else self._clean(self._from)
        url = self._clean(self._url)
        self._recorder.note(FetchNote(self._method, url, began, (now - began) * 1000, status, size, came_from, why))


def _filled(rule: HostRule, vault: Vault) -> Added:
    try:
        added = Added(
            {name: vault.fill(value) for name, value in rule.headers.items()},
            {name: vault.fill(value) for name, value in rule.query.items()},
        )
    except NetworkError as error:
        raise NetworkError(f"Cannot use the entry for {rule.host}: {error}") from error
    # Credentials that the owner wrote out in the entry, without a reference, are secrets too.
    written_out = {value for name, value in added.headers.items() if name in CREDENTIALS} - vault.values
    vault.values |= written_out
    vault.used |= {word for value in written_out if len(word := value.rpartition(" ")[2]) >= MIN_SECRET_LENGTH}
    return added

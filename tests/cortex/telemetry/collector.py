"""A collector of OpenTelemetry in this process: takes OTLP over HTTP as a real one does, and keeps the spans."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

BOUND_S = 20


@dataclass(frozen=True)
class Received:
    """A span as it came over the wire."""

    name: str
    kind: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    events: tuple[str, ...]
    is_error: bool
    scope: str
    schema: str
    began: int
    ended: int
    wire: bytes = field(repr=False)


@dataclass
class Collector:
    url: str
    spans: list[Received] = field(default_factory=list)

    def named(self, beginning: str) -> list[Received]:
        return [one for one in self.spans if one.name.startswith(beginning)]

    def one(self, beginning: str) -> Received:
        (found,) = self.named(beginning)
        return found

    def path(self, span: Received) -> list[str]:
        """The names from the root to the span."""
        by_id = {one.id: one for one in self.spans}
        names = [span.name]
        while span.parent:
            span = by_id[span.parent]
            names.insert(0, span.name)
        return names


def received(data: bytes) -> Iterator[Received]:
    request = ExportTraceServiceRequest.FromString(data)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    span.name,
                    type(span).SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    {one.key: value_of(one.value) for one in span.attributes},
                    tuple(one.name for one in span.events),
                    span.status.code == 2,
                    scope.scope.name,
                    scope.schema_url,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    span.SerializeToString(),
                )


def value_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [value_of(one) for one in found.values] if kind == "array_value" else found


@contextmanager
def collecting() -> Iterator[Collector]:
    listening = socket.create_server(("127.0.0.1", 0))
    collector = Collector(f"http://127.0.0.1:{listening.getsockname()[1]}/v1/traces")

    async def take(request: Any) -> Response:
        collector.spans += received(await request.body())
        answer = ExportTraceServiceResponse().SerializeToString()
        return Response(answer, media_type="application/x-protobuf")

    app = Starlette(routes=[Route("/v1/traces", take, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=lambda: anyio.run(lambda: server.serve([listening])), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.should_exit = True
        thread.join(BOUND_S)
        listening.close()
        assert not thread.is_alive()

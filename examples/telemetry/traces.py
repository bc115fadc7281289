"""A turn as a trace of OpenTelemetry: `python -m examples.telemetry.traces [URL of a collector]`."""

from __future__ import annotations

import sys

import anyio
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from cortex import MotorCortex, Toolbox

COLLECTOR = "http://127.0.0.1:4318/v1/traces"
tools = Toolbox()


@tools.tool(name="shop.stock")
async def stock(item: str) -> int:
    """How many of an item are there."""
    return len(item)


CODE = """\
const counts = await Promise.all(["chair", "table", "lamp"].map((item) => tools.shop.stock({ item })))
return counts.reduce((sum, count) => sum + count, 0)
"""


async def main(provider: TracerProvider) -> None:
    # Before the cortex is opened: it looks for an SDK once.
    trace.set_tracer_provider(provider)
    async with MotorCortex(toolbox=tools) as cortex:
        with trace.get_tracer("shop").start_as_current_span("morning report") as span:
            async with cortex.turn() as turn:
                print(await turn.call("core.execute", {"purpose": "count the stock", "code": CODE}))
        print(f"trace {span.get_span_context().trace_id:032x}")


if __name__ == "__main__":
    tracing = TracerProvider(resource=Resource.create({SERVICE_NAME: "shop-agent"}))
    tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(sys.argv[1] if sys.argv[1:] else COLLECTOR)))
    try:
        anyio.run(main, tracing)
    finally:
        tracing.shutdown()  # sends what still waits

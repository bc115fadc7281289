"""Names of spans and attributes, as OpenTelemetry's conventions have them, and our own, which begin with `cortex.`.

The conventions for generative AI are in development: names may change with a version, so the schema is pinned, and the
names stand here instead of being imported.
"""

from __future__ import annotations

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
SCOPE = "motor-cortex"

# Operations; a span is named by its operation and what it is about.
INVOKE_AGENT = "invoke_agent"
EXECUTE_TOOL = "execute_tool"
CHAT = "chat"
RUN_CODE = "run_code"
NEURON = "neuron"

AGENT = "motor-cortex"
FUNCTION = "function"
OPENAI = "openai"
OTHER_METHOD = "_OTHER"

OPERATION = "gen_ai.operation.name"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
FINISH_REASONS = "gen_ai.response.finish_reasons"
ERROR_TYPE = "error.type"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
HTTP_METHOD = "http.request.method"
HTTP_STATUS = "http.response.status_code"

TURN = "cortex.turn.id"
RUN = "cortex.run.id"
CODE_HASH = "cortex.code.hash"
TIER = "cortex.tier"
TIMEOUT_MS = "cortex.timeout_ms"
STARTUP_MS = "cortex.startup_ms"
CPU_MS = "cortex.cpu_ms"
MEMORY_MB = "cortex.memory_mb"
TOOL_CALLS = "cortex.tool_calls"
TOOLS_LENT = "cortex.tools_lent"
FETCHES = "cortex.fetches"
FETCHES_LEFT_OUT = "cortex.fetches_left_out"
WALL = "cortex.wall"
CACHED = "cortex.cached"
REPLY_CODE = "cortex.reply_code"
ENERGY_COST = "cortex.energy.cost"
ENERGY_LEVEL = "cortex.energy.level"
NEURON_ID = "cortex.neuron.id"
SIGNALS = "cortex.signals"
EMITTED = "cortex.emitted"
ERRORS = "cortex.errors"
ORIGIN = "cortex.origin"
POLICY = "cortex.policy"
ASKED_MS = "cortex.asked_ms"
ALLOWED = "cortex.allowed"

# Events of spans.
OWNER_ASKED = "owner_asked"
OWNER_ANSWERED = "owner_answered"
KILLED = "killed"

"""Every place in the packages that parses or validates bytes or values, with the drive that tests its time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("sandbox", "neurons", "cortex")
READING = frozenset(
    {
        *("from_json", "bounded_json", "loads", "validate_json", "validate_python"),
        *("model_validate", "model_validate_json", "validator_for", "literal_eval"),
    }
)

# Reasons for a place without a drive: the input is trusted, or its caller bounds it.
LAUNCHER = "own: written by the launcher, a program of ours"
FILE = "own: a file of the owner or of ours, read while nobody waits"
HOME = "own: written by us into the home, in lines or files of a few kilobytes"
MADE = "own: made by us a moment before, of what was read and bounded"
JOURNAL = "own: in a thread, and counted before it is written, so that what is read is within the same limits"
READER = "own: what a process that reads code answered, in a line of limited length"
SIGNED = "own: signed with the owner's secret, and of at most 10 containers and 50 values"
POLICY = "own: a few hosts of settings or of an approved document"

PLACES: dict[str, str] = {
    "sandbox/process/fork_server.py::ForkServer._hear": LAUNCHER,
    "sandbox/contracts/frames.py::decode": "frame",
    "sandbox/guard/guard.py::_findings": "guard",
    "sandbox/guard/program_reader.py::edited": "program: edits",
    "sandbox/contracts/displays.py::_rows": "display: rows",
    "sandbox/jail/launcher.py::Launcher.serve": LAUNCHER,
    "sandbox/jail/launcher.py::main": LAUNCHER,
    "sandbox/contracts/json_meter.py::bounded_json": "frame",
    "sandbox/network/recording.py::Replay.from_json": FILE,
    "sandbox/network/recording.py::Replay.load": FILE,
    "sandbox/network/secrets.py::_from_toml": FILE,
    "sandbox/process/process_notes.py::_fields_of": HOME,
    "sandbox/tool_types/schema_check.py::_Check.__init__": "schema: checking",
    "sandbox/tool_types/schema_check.py::_Check._compiled": "schema: checking",
    "sandbox/tool_types/schema_check.py::is_usable": "schema: checking",
    "sandbox/workspace/journal.py::decode": HOME,
    "sandbox/workspace/kept_changes.py::unpacked": HOME,
    "neurons/autonomic/signal_limits.py::Admission.admit": "signal",
    "neurons/habits/fingerprint_reader.py::_parsed": "habits: fingerprint",
    "neurons/habits/recordings.py::_fitting": "habits: recording",
    "neurons/habits/recordings.py::_json": "habits: recording",
    "neurons/habits/recordings.py::_recording": "documents",
    "neurons/switch/kill_switch.py::_read": HOME,
    "neurons/pipeline/decisions.py::kept": MADE,
    "neurons/pipeline/proposal.py::_host": "proposal",
    "neurons/pipeline/proposal.py::Proposal.of": "proposal",
    "neurons/quarantine/rehearsed.py::network_of": POLICY,
    "neurons/quarantine/validation.py::declares": POLICY,
    "neurons/contracts/document_text.py::decode": "documents",
    "neurons/pipeline/store.py::_parsed": "documents",
    "cortex/audit/chain_check.py::ChainCheck._recalled": HOME,
    "cortex/audit/head.py::read_known": HOME,
    "cortex/audit/lines.py::parse": "audit",
    "cortex/cache/result_cache.py::outcome_of": "cache",
    "cortex/console/control.py::ask": HOME,
    "cortex/inbox/asked_question.py::document_of": HOME,
    "cortex/runs/bundle.py::read_bundle": FILE,
    "cortex/runs/details.py::entry_of": FILE,
    "cortex/runs/observed_run.py::plain": "habits: recording",
    "cortex/runs/recording.py::_clean": MADE,
    "cortex/runs/recording.py::unpacked": FILE,
    "cortex/telemetry/checkpoint.py::kept_fold": FILE,
    "cortex/chat/line_history.py::_read": HOME,
    "cortex/commands/kill.py::_name_in": FILE,
    "cortex/commands/run_script.py::_context": FILE,
    "cortex/commands/store.py::_show": HOME,
    "cortex/home/stores.py::_parsed": "store: value",
    "cortex/tools/pictures.py::_Fields.__call__": "arguments from code",
    "cortex/tools/pictures.py::pictures_of": MADE,
    "cortex/commands/run_script.py::_network": POLICY,
    "cortex/demo/story.py::load_scenes": FILE,
    "cortex/demo/story.py::_settings": POLICY,
    "cortex/discovery/endpoint_embedder.py::_vectors": "model: embeddings",
    "cortex/discovery/onnx_embedder.py::_pools_first_token": FILE,
    "cortex/discovery/vector_file.py::_read": HOME,
    "cortex/energy/ledger.py::entry_of": HOME,
    "cortex/energy/snapshot.py::read_snapshot": HOME,
    "cortex/settings/home_path.py::_home_of": FILE,
    "cortex/show/layer_view.py::layer_of": HOME,
    "cortex/loop/records.py::from_line": FILE,
    "cortex/loop/requests.py::parsed_arguments": "calls of a model",
    "cortex/mcp_client/messages.py::parsed": "MCP message over stdio",
    "cortex/mcp_client/unwrap.py::_json_text": "MCP result: JSON in a text",
    "cortex/mcp_config/file.py::json_object": FILE,
    "cortex/mcp_config/file.py::checked_servers": FILE,
    "cortex/mcp_server/server.py::mcp_server": MADE,
    "cortex/mcp_server/server.py::mcp_server.call_tool": MADE,
    "cortex/mcp_server/messages.py::message_of": "MCP client over stdio",
    "cortex/mcp_server/workflow_view.py::with_results": MADE,
    "cortex/home/memory.py::_entry": HOME,
    "neurons/pipeline/neuron_grants.py::network_for": POLICY,
    "cortex/models/chat_client.py::ChatClient._take": "model: reply",
    "cortex/redaction/token_file.py::_entry": HOME,
    "cortex/models/scripted_model.py::ScriptedModel.__init__": FILE,
    "cortex/models/scripted_model.py::ScriptedModel.load": FILE,
    "cortex/settings/settings.py::_read": FILE,
    "cortex/settings/settings.py::_settled": FILE,
    "cortex/tools/arguments.py::_loaded": "arguments of a model",
    "cortex/tools/arguments.py::_plain": "arguments of a model",
    "cortex/tools/consent.py::Consent.ask": MADE,
    "cortex/tools/fitting.py::_Fitting._unquoted": "schema: fitting",
    "cortex/tools/tool.py::value_of": "result of a tool",
    "cortex/tools/tool.py::_strict": "text in a result",
    "cortex/tools/signature.py::Signature.shown": "arguments of a model",
    "cortex/tools/tool.py::Tool._checked": "arguments from code",
    "cortex/turn/turn.py::Turn._restored": "arguments of a model",
    "cortex/workflows/answers.py::said_of": JOURNAL,
    "cortex/workflows/journal_text.py::text_of": JOURNAL,
    "cortex/workflows/journal_text.py::value_of": JOURNAL,
    "cortex/workflows/plan.py::written": "plan",
    "cortex/workflows/plan_file.py::plan_from_json": FILE,
    "cortex/workflows/plan_file.py::_value_of": FILE,
    "cortex/commands/workflow_changes.py::_value": FILE,
    "cortex/workflows/sqlite_rows.py::_plan_of": JOURNAL,
    "neurons/autonomic/mail.py::Mail._checked": "mail",
    "neurons/habits/draft.py::DraftReader.read": READER,
    "neurons/habits/literals.py::LiteralReader.read": READER,
    "neurons/habits/literals.py::places_of": READER,
    "neurons/quarantine/players.py::candidate_player": POLICY,
    "neurons/quarantine/worlds.py::_with_body": "equality: inputs",
    "cortex/audit/neuron_changes.py::NeuronChanges._recall": HOME,
    "cortex/commands/neuron_call.py::_arguments": FILE,
    "cortex/commands/skill_import.py::_of_document": FILE,
    "cortex/commands/skill_import.py::_parameters": FILE,
    "cortex/commands/skill_import.py::_scalar": FILE,
    "cortex/demo/story.py::_about_habit": MADE,
    "cortex/mcp_server/server.py::mcp_server.list_tools": MADE,
    "cortex/energy/terms.py::terms_of": MADE,
    "cortex/inbox/standing_grant.py::grant_in": HOME,
    "cortex/inbox/webhook_question.py::answer_in": SIGNED,
    "cortex/runs/program_files.py::_read": HOME,
    "cortex/motor_cortex.py::MotorCortex.call_function": MADE,
}
"""Each place, with the drive that tests its time, or the reason why it needs none. The author of a place adds it."""


def places() -> dict[str, set[str]]:
    """By `file::function`, the parsing functions that are called there."""
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for where, name in _calls(tree, ""):
                found.setdefault(f"{path.relative_to(ROOT)}::{where}", set()).add(name)
    return found


def _calls(node: ast.AST, where: str) -> Iterator[tuple[str, str]]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Call):
            name = getattr(inner.func, "attr", getattr(inner.func, "id", ""))
            if name in READING:
                yield where or "(module)", name
        is_named = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _calls(inner, f"{where}.{inner.name}".lstrip(".") if is_named else where)

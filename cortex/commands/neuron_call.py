"""`cortex neurons call`: call a learned function, as the owner. A module of its own: it alone of these actions opens a
sandbox, and the others must not wait for that."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from pydantic_core import from_json, to_json

from sandbox import SandboxError, ToolError

from .exits import REFUSED, CommandError
from .options import own_toolbox, refuse_if_killed, with_hint

if TYPE_CHECKING:
    from cortex.settings import Settings
    from cortex.tools import Toolbox

MAX_FILE_BYTES = 4 * 1024 * 1024


def call(options: Namespace, settings: Settings) -> str:
    """The result as JSON. Raises CommandError."""
    arguments = _arguments(options.args)
    refuse_if_killed(settings)
    toolbox = own_toolbox(options.tools) if options.tools is not None else None
    try:
        result = anyio.run(_called, options.neuron, arguments, settings, toolbox)
    except ToolError as error:
        raise CommandError(with_hint(str(error)), REFUSED) from error
    except SandboxError as error:
        raise CommandError(str(error), REFUSED) from error
    return to_json(result, indent=None if options.json else 2).decode()


def _arguments(text: str) -> dict[str, Any]:
    try:
        data = _read(Path(text[1:])) if text.startswith("@") else text.encode()
        arguments = from_json(data)
    except ValueError as error:
        raise CommandError(f"--args is not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise CommandError('--args is one JSON object, like {"p": 1000}')
    return arguments


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CommandError(f'Cannot read "{path}": {error.strerror}') from error
    if len(data) > MAX_FILE_BYTES:
        raise CommandError(f'"{path}" has more than {MAX_FILE_BYTES} bytes')
    return data


async def _called(name: str, arguments: dict[str, Any], settings: Settings, toolbox: Toolbox | None) -> Any:
    from cortex.motor_cortex import MotorCortex

    # Neurons go on in the process that runs them, and habits are no business of this one.
    alone = settings.neurons.model_copy(
        update={
            "autonomic": settings.neurons.autonomic.model_copy(update={"enabled": False}),
            "habits": settings.neurons.habits.model_copy(update={"enabled": False}),
        }
    )
    async with MotorCortex(settings.model_copy(update={"neurons": alone}), toolbox=toolbox, channels=[]) as cortex:
        return await cortex.call_function(cortex.function_name(name), arguments)

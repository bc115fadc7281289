"""Makes one call of a tool: read the arguments, get consent, call, report.

There is no other way to call a tool for a model, so that no caller can leave out a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from sandbox import ToolError, time_is_up

from .consent import Refused

if TYPE_CHECKING:
    from sandbox import ReadyJson

    from .consent import Consent
    from .owner import Origin
    from .usable import UsableTool

OnCall: TypeAlias = Callable[["Origin", str, Any, bool, str | None, float], None]
"""The caller, the tool's name, the arguments, whether it succeeded, the error code if not, and the milliseconds that
the tool itself took."""


class Calls:
    """The calls of one turn, by the model and by its code. `require` raises ToolError while nothing may be done;
    `restored` puts back the values for which the model was shown tokens."""

    def __init__(
        self,
        consent: Consent,
        *,
        require: Callable[[], None] = lambda: None,
        on_call: OnCall = lambda *_: None,
        restored: Callable[[Any, str | None], Any] = lambda arguments, _: arguments,
    ) -> None:
        self._consent = consent
        self._require = require
        self._on_call = on_call
        self._restored = restored

    async def make(
        self,
        tool: UsableTool,
        arguments: Mapping[str, Any] | str | None,
        *,
        origin: Origin,
        purpose: str = "",
        timeout_ms: int | None = None,
        written: str | None = None,
    ) -> ReadyJson:
        """Call the tool; the result is JSON text for the model or its code. Raises ToolError: `invalid_arguments`
        before the owner is asked, `denied` before anything is done, or the tool's own error. The owner is asked about
        exactly what the tool then gets. For a call from code, only tokens that the model has `written` into that code
        are restored: other tokens may come from text of strangers."""
        given: Any = arguments
        error_code: str | None = None
        began: float | None = None
        try:
            self._require()
            read = tool.read(self._restored(arguments, written))
            given = read.shown
            permission = await self._consent.of(tool, given, origin=origin, purpose=purpose)
            if isinstance(permission, Refused):
                raise ToolError(permission.reason, code="denied")
            self._require()  # the owner took time to answer, and may have turned on the kill switch meanwhile
            began = time.perf_counter()
            result = await tool.call_json(read, timeout_ms=timeout_ms)
        except ToolError as error:
            error_code = str(error.code)
            raise
        except Exception:
            error_code = "internal"
            raise
        except BaseException:
            error_code = "timeout" if time_is_up() else "cancelled"
            raise
        finally:
            duration_ms = 0.0 if began is None else (time.perf_counter() - began) * 1000
            self._on_call(origin, tool.name, given, error_code is None, error_code, duration_ms)
        return result

"""Turn failures of a model's endpoint into ModelErrors that say what to do. Pure; never shows the API key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cortex.energy import in_about
from cortex.loop import ModelError
from cortex.text import visible, whole

if TYPE_CHECKING:
    from cortex.settings import ModelSettings

OPENAI_URL = "https://api.openai.com/v1"

_MAX_QUOTED_CHARS = 300
_TOO_LONG = 413
# Many endpoints have no status for it, and say it in the text of an ordinary error.
_TOO_LONG_IN_WORDS = re.compile(r"maximum context|context[ _](?:length|size|window)", re.IGNORECASE)

_REFUSED = ("it refused the request", "; check model.name, and whether the model can call tools")
# For each status: what happened, and what to do. The endpoint's own words go between the two.
_COMPLAINTS: dict[int, tuple[str, str]] = {
    400: _REFUSED,
    401: ("it does not accept the key, or wants one", "; check model.api_key"),
    403: ("it does not allow this", "; check model.api_key and model.name"),
    404: (
        "it has no such model, or no chat at this address",
        '; check model.name and model.base_url, which mostly ends in "/v1"',
    ),
    _TOO_LONG: ("the conversation is too long for it", "; begin a new one, or lower loop.max_history_bytes"),
    422: _REFUSED,
    429: ("it has too many requests", "; wait a little"),
}


def key_of(settings: ModelSettings) -> str:
    """The API key; empty if there is none."""
    return settings.api_key.get_secret_value().strip() if settings.api_key else ""


def settings_problem(settings: ModelSettings) -> str | None:
    """Why no model can be used with these settings; None if one can."""
    if not settings.name:
        return "no model is named; set model.name, for example with CORTEX_MODEL__NAME"
    if settings.base_url is None and not key_of(settings):
        return "OpenAI wants a key; set model.api_key or OPENAI_API_KEY, or point model.base_url at another endpoint"
    if not _is_address(settings.base_url or OPENAI_URL):
        return 'model.base_url is not the address of an endpoint; it looks like "http://localhost:11434/v1"'
    if not all("!" <= character <= "~" for character in key_of(settings)):
        return "model.api_key holds a character that no key has, perhaps a line break or a quotation mark from copying"
    return None


def _is_address(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


class Faults:
    """Makes the errors of one endpoint."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._key = key_of(settings)
        self.where = _shown(settings.base_url or OPENAI_URL)

    def status(self, status: int, headers: Mapping[str, str], body: object, now: float) -> ModelError:
        """The error for an HTTP error status. `body` is the endpoint's own error, without the envelope."""
        said = self._quoted(headers.get("location") if 300 <= status < 400 else body)
        codes = _codes(body)
        if "insufficient_quota" in codes:
            return self._error(f"the account has no credit left{said}; look at its billing page")
        asked_again = headers.get("x-should-retry", "").lower()
        retryable = asked_again == "true" or (asked_again != "false" and is_passing_status(status))
        is_said = status in {400, 422} and _TOO_LONG_IN_WORDS.search(said)
        is_too_long = is_said or "context_length_exceeded" in codes
        complaint, advice = _complaint(_TOO_LONG if is_too_long else status)
        wait_s = retry_after_s(headers, now)
        if retryable and wait_s is not None and wait_s > self._settings.max_wait_s:
            # An earlier retry would fail, and may count against our rate limit.
            retryable, advice = False, f"; it asks to wait: try again {in_about(wait_s)}"
        return self._error(f"{complaint}{said}{advice}", retryable, retry_after_s=wait_s)

    def in_stream(self, body: object) -> ModelError:
        """The error for an endpoint that reports a failure in the middle of a stream."""
        return self._error(f"it failed while replying{self._quoted(body)}", any(map(_is_passing, _codes(body))))

    def connection(self, reason: str) -> ModelError:
        return self._error(
            f"the connection failed ({self._clean(reason)}); is it running, and is model.base_url right?",
            retryable=True,
        )

    def stalled(self) -> ModelError:
        return self._error(
            f"nothing came for {self._settings.stall_timeout_s:g} s; if the model is still being loaded, wait or raise "
            "model.stall_timeout_s",
            retryable=True,
        )

    def timed_out(self) -> ModelError:
        return self._error(
            f"there was no whole reply within {self._settings.reply_timeout_s:g} s; raise model.reply_timeout_s if the "
            "model is that slow",
            retryable=True,
        )

    def broken_off(self) -> ModelError:
        return self._error("the reply broke off in the middle", retryable=True)

    def garbage(self, what: str) -> ModelError:
        return self._error(
            f"it answered with something that is not a chat completion ({self._clean(what)}); is model.base_url right? "
            'Most end in "/v1"'
        )

    def _error(self, words: str, retryable: bool = False, *, retry_after_s: float | None = None) -> ModelError:
        message = f'Cannot get a reply of "{visible(self._settings.name or "")}" from {self.where}: {words}'
        return ModelError(message, retryable, retry_after_s=retry_after_s)

    def _quoted(self, body: object) -> str:
        text = _said(body)
        return f': "{self._clean(text)}"' if text else ""

    def _clean(self, text: str) -> str:
        # Endpoints may quote the key that they were sent.
        if self._key:
            text = text.replace(self._key, "[key]")
        # Cut before each character is looked at, and again at the end: escaped characters make the text longer.
        text = visible(whole(" ".join(text[: 4 * _MAX_QUOTED_CHARS].split())))
        return text if len(text) <= _MAX_QUOTED_CHARS else f"{text[:_MAX_QUOTED_CHARS]}…"


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """How long the endpoint asks to wait: in milliseconds, in seconds, or until a date. None when it does not say."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1)):
        try:
            wait_s = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        return max(wait_s, 0) if math.isfinite(wait_s) else None
    try:
        return max(parsedate_to_datetime(headers["retry-after"]).timestamp() - now, 0)
    except (KeyError, ValueError, OverflowError):
        return None


def is_passing_status(status: int) -> bool:
    """Whether the request may succeed later, as the official client has it: after a request timeout, a lock conflict, a
    rate limit or a failure of the server."""
    return status in {408, 409, 429} or status >= 500


def _complaint(status: int) -> tuple[str, str]:
    if status in _COMPLAINTS:
        return _COMPLAINTS[status]
    if 300 <= status < 400:
        return "it has moved", "; put the new address into model.base_url"
    return (f"it failed (status {status})" if status >= 500 else f"it refused the request (status {status})"), ""


def innermost_reason(error: BaseException) -> str:
    """The message of the innermost cause that has one: the outer exceptions only say that something failed."""
    reason = type(error).__name__
    cause: BaseException | None = error
    for _ in range(10):
        if cause is None:
            break
        reason = str(cause) or reason
        cause = cause.__cause__ or cause.__context__
    return reason


def _said(body: object) -> str:
    match body:
        case {"message": str(text)} | {"detail": str(text)}:
            return text
        case str(text):
            # An HTML page is left out.
            return "" if text.lstrip().startswith("<") else text
        case None:
            return ""
        case _:
            return json.dumps(body)


def _codes(body: object) -> set[str]:
    said = [body.get(name) for name in ("code", "type")] if isinstance(body, dict) else []
    return {str(code)[:_MAX_QUOTED_CHARS].lower() for code in said if isinstance(code, str | int)}


def _is_passing(code: str) -> bool:
    if code.isdecimal() and len(code) == 3:
        return is_passing_status(int(code))
    return any(word in code for word in ("server_error", "overloaded", "rate_limit", "unavailable", "timeout"))


def _shown(url: str) -> str:
    """The URL without user name, password and query."""
    parts = urlsplit(url)
    return visible(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")

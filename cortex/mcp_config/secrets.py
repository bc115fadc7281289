"""Find secrets written literally in the settings of MCP servers, to warn about them and to hide them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from cortex.redaction import Redactor
from cortex.settings import HIDDEN, RedactionSettings, defaults_in, has_reference, shown

if TYPE_CHECKING:
    from cortex.settings import McpServerSettings

_WORDS = re.compile(
    r"key|token|secret|passw|passphrase|pwd|credential|cookie|authori[sz]ation|bearer|(?:^|[_-])pat$", re.I
)
# Names that contain such a word but hold no secret.
_HARMLESS = re.compile(r"(?:file|path|dir|url|uri|host|endpoint|name|id|limit|count|max\w*|ttl|expiry)$", re.I)
_URL_PASSWORD = re.compile(r"://[^/?#@\s]{1,1000}@")
_URL_QUERY = re.compile(r"[?&]([^=&#\s]{1,100})=([^&#\s]{1,4000})")
_OPTION = re.compile(r"-{1,2}([A-Za-z][\w-]{0,60})(?:=(.*))?", re.DOTALL)
_ASSIGNED = re.compile(r"([A-Za-z_]\w{0,60})=(.*)", re.DOTALL)


def literal_secrets(server: McpServerSettings) -> list[str]:
    """The places of values that look like a secret and do not refer to the environment: `env.API_KEY`, `args[2]`."""
    places = [f"env.{name}" for name, value in server.env.items() if _is_secret(name, value)]
    places += [f"headers.{name}" for name, value in server.headers.items() if _is_secret(name, value)]
    places += [f"args[{number}]" for number in _secret_arguments(server.args)]
    if server.url is not None and _is_secret_url(server.url):
        places.append("url")
    return places


def shown_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments, with those that look like secrets hidden."""
    secret = set(_secret_arguments(arguments))
    return [_hidden(text) if number in secret else shown(text) for number, text in enumerate(arguments)]


def written_secrets(server: McpServerSettings) -> list[str]:
    """The values that look like secrets in the arguments and in the URL, so that a caller can hide them."""
    found = [server.args[number].partition("=")[2] or server.args[number] for number in _secret_arguments(server.args)]
    if server.url is not None and _is_secret_url(server.url):
        found += [value for name, value in _URL_QUERY.findall(server.url) if _is_secret(name, value)]
        found += [login.strip(":/@") for login in _URL_PASSWORD.findall(server.url)]
        found += [word for login in _URL_PASSWORD.findall(server.url) for word in login.strip("/@").split(":") if word]
    return found


def _hidden(text: str) -> str:
    found = _OPTION.fullmatch(text) or _ASSIGNED.fullmatch(text)
    return f"{text[: text.index('=') + 1]}{HIDDEN}" if found and found[2] else HIDDEN


def _secret_arguments(arguments: Sequence[str]) -> Iterator[int]:
    before = ""
    for number, text in enumerate(arguments):
        option = _OPTION.fullmatch(text)
        assigned = option if option and option[2] else _ASSIGNED.fullmatch(text)
        if assigned:
            is_secret = _is_secret(assigned[1], assigned[2])
        else:
            is_secret = not option and bool(before) and _is_secret(before, text)
        if is_secret or _has_shape(text) or _is_secret_url(text):
            yield number
        before = option[1] if option and not option[2] else ""


def _is_secret(name: str, value: str) -> bool:
    if has_reference(value):
        return any(_is_secret(name, default) for default in defaults_in(value))
    if not value.strip():
        return False
    is_named = bool(_WORDS.search(name)) and not _HARMLESS.search(name)
    return (is_named and not value.strip().isdecimal() and value.casefold() not in {"true", "false"}) or _has_shape(
        value
    )


def _has_shape(text: str) -> bool:
    """Whether the value itself looks like a secret, whatever its name: an API key of a known form, a JWT, a private
    key."""
    if has_reference(text):
        return any(_has_shape(default) for default in defaults_in(text))
    return _redactor().text(text) != text


@cache
def _redactor() -> Redactor:
    return Redactor(RedactionSettings(kinds=("jwt", "api_key", "private_key", "secret")))


def _is_secret_url(text: str) -> bool:
    if any(map(_is_secret_url, defaults_in(text))):
        return True
    has_password = not has_reference(text) and bool(_URL_PASSWORD.search(text))
    return "://" in text and (has_password or any(_is_secret(name, value) for name, value in _URL_QUERY.findall(text)))

"""Fixtures: a broker, the host names that it knows, and servers that answer it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trustme

from sandbox.contracts.errors import ToolError
from sandbox.contracts.frames import Fetch
from sandbox.network import FetchBroker, NetworkPolicy
from tests.sandbox.network.servers import Server


class Names:
    """DNS for a test: each question takes the next answer, and the last one for ever after."""

    def __init__(self, **answers: list[list[str]] | list[str]) -> None:
        self.answers = {
            name.replace("_", "."): [list(each) for each in given] if isinstance(given[0], list) else [list(given)]
            for name, given in answers.items()
        }
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self.answers.get(host)
        if answers is None:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]


@asynccontextmanager
async def brokered(
    *allow: object, names: Names | None = None, environment: dict[str, str] | None = None, **policy: Any
) -> AsyncIterator[FetchBroker]:
    broker = FetchBroker(
        NetworkPolicy.model_validate({"allow": allow, **policy}), environment=environment or {}, resolver=names
    )
    try:
        yield broker
    finally:
        await broker.aclose()


def call(
    url: str,
    method: str = "GET",
    headers: Any = (),
    body: bytes | str | None = None,
    redirect: Any = "follow",
) -> Fetch:
    text = base64.b64encode(body).decode() if isinstance(body, bytes) else body
    return Fetch("1", url, method, [list(pair) for pair in headers], text, redirect)


async def fetch(broker: FetchBroker, url: str, *arguments: Any, **more: Any) -> dict[str, Any]:
    answer = json.loads(await broker.fetch(call(url, *arguments, **more)))
    assert list(answer) == ["url", "status", "statusText", "headers", "body", "redirected"]
    answer["body"] = base64.b64decode(answer["body"])
    return answer


async def refused(broker: FetchBroker, url: str, *arguments: Any, **more: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await broker.fetch(call(url, *arguments, **more))
    assert str(caught.value)
    return caught.value


def header(answer: dict[str, Any], name: str) -> str | None:
    return dict(map(tuple, answer["headers"])).get(name)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()

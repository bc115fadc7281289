from __future__ import annotations

import pytest

from cortex.cache import cache_key
from cortex.cache.cached_runtime import limits_of
from sandbox import ExecutionRequest, SandboxSettings, Tier


def key(
    request: ExecutionRequest | None = None, *, runtime_version: str = "1", tools_version: str = "", **limits: int
) -> str:
    request = request or asked()
    found = limits_of(SandboxSettings.model_validate(limits))
    return cache_key(request, runtime_version=runtime_version, limits=found, tools_version=tools_version)


def asked(**changes: object) -> ExecutionRequest:
    return ExecutionRequest.model_validate({"code": "return context.a", "context": {"a": 1, "b": 2}, **changes})


def test_equal_requests_have_the_same_key():
    assert key() == key(asked())
    assert len(key()) == 64


@pytest.mark.parametrize(
    "other",
    [
        key(asked(code="return context.a ")),
        key(asked(context={"a": 1, "b": 3})),
        key(asked(context={"b": 2, "a": 1})),  # Object.keys would tell
        key(asked(context={"a": True, "b": 2})),
        key(asked(context={"a": "1", "b": 2})),
        key(asked(context=[])),
        key(asked(tier=Tier.NETWORK)),
        key(asked(max_memory_mb=64)),
        key(runtime_version="2"),
        key(tools_version="2"),
        key(max_heap_mb=64),
        key(max_memory_mb=64),
        key(max_code_bytes=100),
        key(max_context_bytes=100),
        key(max_result_bytes=100),
        key(max_output_bytes=100),
        key(max_frame_bytes=70_000),
    ],
    ids=lambda other: other[:6],
)
def test_everything_that_a_result_depends_on_changes_the_key(other: str):
    assert other != key()


def test_code_and_context_cannot_be_shifted_into_each_other():
    assert key(asked(code='a","b', context="c")) != key(asked(code="a", context='b","c'))


@pytest.mark.parametrize("changes", [{"timeout_ms": 100}, {"deterministic": True}])
def test_what_a_result_does_not_depend_on_does_not_change_the_key(changes: dict[str, object]):
    assert key(asked(**changes)) == key()


def test_every_other_field_of_a_request_is_part_of_the_key():
    # A field that is added one day must be in the key, or be left out on purpose.
    from cortex.cache import cached_runtime as module

    assert {*module._ASKED, *module._LEFT_OUT} == set(ExecutionRequest.model_fields)
    assert {"code", "tier", "context"} <= set(module._ASKED)


@pytest.mark.parametrize("changes", [{"code": "return '\ud800'"}, {"context": {"a": object()}}])
def test_a_request_that_is_not_json_has_no_key(changes: dict[str, object]):
    with pytest.raises(ValueError):  # noqa: PT011 - the words are the library's
        key(asked(**changes))


def test_a_context_that_contains_itself_has_no_key():
    context: list[object] = []
    context.append(context)
    with pytest.raises(ValueError):  # noqa: PT011
        key(ExecutionRequest(code="1", context=context))

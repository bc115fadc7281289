"""An exported run: one file with all that it takes to run it again, without secrets, and refused when it was changed."""

from __future__ import annotations

import json

import pytest

from cortex.audit import code_hash
from cortex.redaction import Redactor
from cortex.runs import BundleRefused, RecordedCall, RunRecording, bundle_bytes, bundle_of, read_bundle
from cortex.runs.bundle import MAX_BUNDLE_BYTES
from cortex.runs.details import body_of
from cortex.runs.recording import RecordedExchange
from cortex.settings import RedactionSettings
from tests.cortex.runs.support import NOON, details

CODE = "return context.n"
MAIL = "ada@corp.example"


def recording(**more) -> RunRecording:
    call = RecordedCall(name="stock", start_ms=1, ms=2, ok=True, arguments_hash="a" * 64, arguments={"n": 1}, result=3)
    exchange = RecordedExchange(
        method="POST",
        url="https://a.example/b",
        request_body_sha256="b" * 64,
        status=200,
        body=b"\xff\x00",
        url_hash="c",
    )
    facts = {"run": "r-1", "code_hash": code_hash(CODE), "at": NOON, "calls": (call,), "exchanges": (exchange,)}
    return RunRecording(**{**facts, **more})


def made(code: str = CODE, kept: RunRecording | None = None, **more) -> bytes:
    request = {"method": "GET", "url": "https://a.example/b", "query_hash": "d" * 64, "start_ms": 1, "ms": 1}
    facts = {"code_hash": code_hash(code), "requests": (request,), "hash": "e" * 64, "audit": 7}
    one = details(1, **{**facts, **more})
    given = {"version": "1", "exported_at": NOON, "standing": "matches", "missing": ("something",)}
    return bundle_bytes(bundle_of(one, code, kept or recording(), Redactor(RedactionSettings()), **given))


def test_an_exported_run_is_read_again_as_it_was_but_for_hashes_of_what_may_have_been_secret():
    bundle = read_bundle(made(requests=({"method": "GET", "url": "https://a.example/b", "start_ms": 1, "ms": 1},)))
    assert (bundle.code, bundle.is_code_redacted, bundle.standing, bundle.missing) == (
        *(CODE, False, "matches", ("something",)),
    )
    assert (bundle.details.id, bundle.details.hash, bundle.details.audit) == (details(1).id, "e" * 64, 7)
    assert bundle.recording is not None
    [call], [exchange] = bundle.recording.calls, bundle.recording.exchanges
    assert (call.arguments, call.result, call.arguments_hash) == ({"n": 1}, 3, "")
    assert (exchange.body, exchange.url_hash, exchange.request_body_sha256) == (b"\xff\x00", "", "b" * 64)
    assert bundle.details.requests[0].query_hash is None


def test_a_short_secret_is_not_found_by_the_hash_of_the_run_or_of_its_recording():
    query = {"method": "GET", "url": "https://a.example/b", "query_hash": "d" * 64, "start_ms": 1, "ms": 1}
    ref = {"id": "a" * 24, "bytes": 1, "hash": "f" * 64}
    asked = details(1, code_hash=code_hash(CODE), requests=(query,), recording=ref)
    _, whole = body_of(asked)
    told = made(requests=(query,), recording=ref, hash=whole)
    assert whole.encode() not in told
    assert b"f" * 64 not in told
    given = made(kept=recording(context={"mail": "[EMAIL_1]"}), requests=(), recording=ref, hash=whole)
    assert whole.encode() not in given
    assert b"f" * 64 not in given


def test_where_secrets_were_taken_out_no_hash_is_left_by_which_they_could_be_found():
    bundle = read_bundle(made(kept=recording(context={"mail": "[EMAIL_1]"})))
    assert bundle.recording is not None
    assert bundle.recording.exchanges[0].request_body_sha256 is None
    code = f'return "{MAIL}"'
    data = made(code)
    bundle = read_bundle(data)
    assert MAIL.encode() not in data
    assert code_hash(code).encode() not in data
    assert bundle.is_code_redacted
    assert bundle.details.code_hash == code_hash(bundle.code)
    assert (bundle.details.hash, bundle.details.audit) == ("", None)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'"ok"', b'"oK"', 1),
        lambda data: data.replace(b'"reply":"reply 1"', b'"reply":"reply 2"'),
        lambda data: data.replace(b"context.n", b"context.m"),
        lambda data: json.dumps(json.loads(data)).encode(),
        lambda data: data[:-4],
        lambda data: data + b" ",
        lambda data: b"",
        lambda data: b"[" * 100_000,
        lambda data: b"\xff" * 100,
        lambda data: data.replace(b'"cortex_run":1', b'"cortex_run":2'),
        lambda data: data + b"x" * MAX_BUNDLE_BYTES,
    ],
    ids=range(11),
)
def test_a_file_that_was_changed_or_is_none_is_refused(change):
    with pytest.raises(BundleRefused):
        read_bundle(change(made()))


def test_a_file_whose_code_is_not_that_of_the_run_is_refused_also_with_a_right_hash():
    honest = read_bundle(made())
    forged = bundle_bytes(honest.model_copy(update={"code": "return 2"}))
    with pytest.raises(BundleRefused, match="not the code of the run"):
        read_bundle(forged)


def test_a_file_with_more_calls_than_a_run_has_is_refused():
    honest = read_bundle(made())
    calls = tuple({"name": "a", "start_ms": 0, "arguments": {"n": n}} for n in range(5_000))
    forged = honest.model_copy(update={"recording": recording(calls=calls)})
    with pytest.raises(BundleRefused, match="longer recording"):
        read_bundle(bundle_bytes(forged))

"""The owner's server answers a question in the response to our own request; nobody else does."""

from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from cortex import MotorCortex, Settings
from cortex.channels import SIGNATURE
from cortex.settings import InboxSettings, ToolSettings
from neurons import NeuronSettings, OwnerSettings
from sandbox.testing import ScriptedRuntime

from .stage import seen
from .test_answers import decisions
from .test_inbox_owner import Person, ordered_by, shop

SECRET = "a secret of sixteen or more"


def sign(body: bytes, secret: str = SECRET, before: bytes = b"answer.") -> str:
    return f"sha256={hmac.new(secret.encode(), before + body, hashlib.sha256).hexdigest()}"


class Server:
    """Says what `says` returns for the request of this number: status, headers, body."""

    def __init__(self, says) -> None:
        self.says = says
        self.heard: list[tuple[dict, dict]] = []
        self.url = ""


@contextmanager
def server(says):
    state = Server(says)

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            timestamp = self.headers["X-Cortex-Timestamp"].encode()
            assert self.headers[SIGNATURE] == sign(body, before=timestamp + b".")
            state.heard.append((json.loads(body), dict(self.headers)))
            status, headers, answer = state.says(json.loads(body), len(state.heard))
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(answer))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    listening.daemon_threads = True
    thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{listening.server_address[1]}/hook"
    try:
        yield state
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def said(question: dict, answer: object = "yes", **more: object):
    body = json.dumps({"shownHash": question["shownHash"], "answer": answer, **more}).encode()
    return 200, {SIGNATURE: sign(body)}, body


def cortex_at(home, url, owner=None, seconds=30.0, **inbox):
    toolbox, ordered = shop()
    settings = Settings(
        home=home,
        inbox=InboxSettings(**{"webhook": True, "webhook_poll_s": 0.05, **inbox}),
        tools=ToolSettings(owner_timeout_s=seconds),
        neurons=NeuronSettings(owner=OwnerSettings(webhook_url=url, webhook_secret=SECRET)),
    )
    return MotorCortex(settings, toolbox=toolbox, owner=owner, runtime=ScriptedRuntime([])), ordered


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_the_server_answers_when_it_is_asked_again(tmp_path, answer):
    with server(lambda q, n: (204, {}, b"") if n < 3 else said(q, answer, reason="as you like")) as owner:
        cortex, ordered = cortex_at(tmp_path, owner.url)
        async with cortex:
            told = await ordered_by(cortex, "tea for ada@corp.example")
    assert ordered == (["tea for ada@corp.exa"] if answer == "yes" else [])
    assert ("as you like" in told) is (answer == "no")
    assert len(owner.heard) == 3
    asked = owner.heard[0][0]
    assert (asked["event"], asked["tool"]) == ("question_asked", "shop.order")
    assert asked["arguments"] == {"item": "tea for [EMAIL_1]"}
    assert {heard["shownHash"] for heard, _ in owner.heard} == {seen(tmp_path)[0].shown_hash}
    assert decisions(tmp_path)[-1]["by"] == "owner (webhook)"
    assert seen(tmp_path)[0].by == "owner (webhook)"


async def test_a_person_who_is_there_is_asked_no_more_when_the_server_has_answered(tmp_path):
    person = Person()
    with server(lambda q, _: said(q) if person.asked else (204, {}, b"")) as owner:
        cortex, ordered = cortex_at(tmp_path, owner.url, person)
        async with cortex:
            await ordered_by(cortex)
    assert ordered == ["tea"]
    assert person.withdrawn == 1


def unsigned(question):
    status, _, body = said(question)
    return status, {}, body


def signed_by_another(question):
    status, _, body = said(question)
    return status, {SIGNATURE: sign(body, "another secret of sixteen")}, body


def signed_as_a_request(question):
    status, _, body = said(question)
    return status, {SIGNATURE: sign(body, before=b"1700000000.")}, body


def to_another_question(question):
    return said({**question, "shownHash": "0" * 64})


def with_the_beginning_of_the_hash(question):
    return said({**question, "shownHash": question["shownHash"][:12]})


def echoed(question):
    """What we have sent, signed as we have signed it."""
    body = json.dumps({**question, "answer": "yes"}).encode()
    return 200, {SIGNATURE: sign(body, before=b"")}, body


def too_long(question):
    return said(question, reason="x" * 20_000)


def raw(body: bytes):
    return lambda _: (200, {SIGNATURE: sign(body)}, body)


@pytest.mark.parametrize(
    "says",
    [
        unsigned,
        signed_by_another,
        signed_as_a_request,
        to_another_question,
        with_the_beginning_of_the_hash,
        echoed,
        too_long,
        lambda q: said(q, "YES"),
        lambda q: said(q, True),
        lambda q: said(q, ["yes"]),
        lambda q: said(q, "yes", reason=1),
        raw(b"[]"),
        raw(b"yes"),
        raw(b"[" * 5_000),
        raw(b"\xff"),
        lambda q: (302, {**said(q)[1], "location": "/other"}, said(q)[2]),
        lambda q: (500, said(q)[1], said(q)[2]),
        lambda q: (202, said(q)[1], said(q)[2]),
    ],
)
async def test_what_the_owner_has_not_signed_for_this_question_is_no_answer(tmp_path, says):
    with server(lambda q, _: says(q)) as owner:
        cortex, ordered = cortex_at(tmp_path, owner.url, seconds=0.4)
        async with cortex:
            assert "no answer within" in await ordered_by(cortex)
    assert ordered == []
    assert owner.heard


async def test_an_answer_of_before_does_not_fit_the_same_call_again(tmp_path):
    kept: list = []

    def says(question, number):
        if not kept:
            kept.append(said(question))
        return kept[0]

    with server(says) as owner:
        cortex, ordered = cortex_at(tmp_path, owner.url, seconds=2)
        async with cortex:
            assert "ordered" in await ordered_by(cortex)
            assert "no answer within" in await ordered_by(cortex)
    assert ordered == ["tea"]


async def test_without_the_setting_or_an_address_no_question_is_sent(tmp_path, caplog):
    with server(lambda q, _: said(q)) as owner:
        cortex, ordered = cortex_at(tmp_path / "one", owner.url, webhook=False)
        async with cortex:
            assert "no owner can be asked" in await ordered_by(cortex)
        toolbox, _ = shop()
        settings = Settings(home=tmp_path / "two", inbox=InboxSettings(webhook=True))
        async with MotorCortex(settings, toolbox=toolbox, runtime=ScriptedRuntime([])) as cortex:
            assert "no owner can be asked" in await ordered_by(cortex)
    assert "neurons.owner.webhook_url is not" in caplog.text
    assert ordered == []
    assert owner.heard == []


async def test_it_is_asked_again_after_the_time_of_the_setting(tmp_path):
    with server(lambda _, __: (204, {}, b"")) as owner:
        cortex, _ = cortex_at(tmp_path, owner.url, seconds=1, webhook_poll_s=600)
        async with cortex:
            await ordered_by(cortex)
    assert len(owner.heard) == 1

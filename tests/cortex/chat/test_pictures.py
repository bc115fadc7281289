"""`cortex chat` with code that displays something, as a whole: a real process, real Deno, a scripted endpoint; and the
turn that the end of a job starts."""

from __future__ import annotations

import base64
import io
import json
from contextlib import nullcontext

import pytest

from cortex import ScriptedModel
from cortex.chat import Agent
from cortex.chat.agent import ended_job
from cortex.chat.outputs import ForPeople
from cortex.jobs import JOB_ENDED
from cortex.loop import Conversations, PicturesMessage
from cortex.show.gallery import Gallery
from neurons import Signal
from sandbox import Displayed, ExecutionOutcome
from tests.cortex.jobs.support import Patient, begin, cortex, until_ended
from tests.cortex.models.server import ChatServer, words
from tests.pixels import Pixels
from tests.sandbox.contracts.test_displays import png

from .test_command import cortex_chat, environment, run_code

DRAW = """
console.log("drawing");
display(`<svg xmlns="http://www.w3.org/2000/svg" width="30" height="10"><rect width="30" height="10" fill="red"/></svg>`,
  { title: "Red" });
display([{ city: "Oslo", trams: 6 }]);
"""
SOUND = "return { type: 'audio', mimeType: 'audio/wav', data: new Uint8Array([82, 73, 70, 70]) }"


@pytest.mark.deno
def test_a_chat_keeps_a_picture_in_the_home_prints_its_path_and_sends_it_to_a_model_that_takes_pictures(tmp_path):
    with ChatServer(run_code(DRAW), words("Red."), run_code(SOUND), words("Hear.")) as server:
        env = environment(tmp_path, server, CORTEX_MODEL__IMAGES="true")
        done = cortex_chat(env=env, stdin="draw\n")
        assert (done.returncode, done.stdout) == (0, "Red.\n")
        [path] = (tmp_path / "displayed").iterdir()
        assert f"- displayed Red\n  {path}\n" in done.stderr  # in one line: it is there to be copied
        assert "| Oslo | 6 |" in done.stderr
        assert Pixels(path.read_bytes()).at(15, 5) == (255, 0, 0, 255)
        *_, answer, pictures = server.asked[-1]["messages"]

        told = cortex_chat("--message", "play", "--json", env=env)
        [event] = [event for line in told.stdout.splitlines() if (event := json.loads(line))["event"] == "displayed"]
    # What was printed and what was displayed, and no hint that there was no value.
    assert answer["content"] == (
        "null\nIt printed:\n| drawing\n"
        '[displayed "Red": image/png, 30 × 10 pixels]\n'
        "[displayed: a table]\n| city | trams |\n| --- | --- |\n| Oslo | 6 |"
    )
    url = f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
    assert pictures["content"][1] == {"type": "image_url", "image_url": {"url": url}}
    assert (event["type"], event["mimeType"]) == ("audio", "audio/wav")
    assert event["path"].startswith(str(tmp_path / "displayed"))
    with open(event["path"], "rb") as sound:
        assert sound.read() == b"RIFF"


class Watching(ScriptedModel):
    def __init__(self, steps):
        super().__init__(steps)
        self.sent = []

    async def reply(self, messages, tools, **more):
        self.sent.append(list(messages))
        return await super().reply(messages, tools, **more)


async def test_the_turn_that_the_end_of_a_job_starts_shows_what_the_job_displayed(tmp_path):
    shown = (Displayed("image", "image/png", png(), "A"), Displayed("markdown", "text/markdown", b"# b"))
    runtime, out = Patient(opened=True), io.StringIO()
    runtime.outcome = ExecutionOutcome(ok=True, result=42, displayed=shown)
    model = Watching([{"text": "There it is."}])
    place = cortex(tmp_path, runtime)
    output = ForPeople(out, out, Gallery(lambda: tmp_path / "displayed"))
    (tmp_path / "displayed").mkdir()
    with Conversations(tmp_path / "conversations").new() as conversation:
        async with Agent(place, nullcontext(model), conversation, output) as agent:
            name = f"chat:{conversation.id}"
            async with place.turn(conversation=name) as turn:
                handle = await begin(turn)
            await until_ended(place, handle, name)
            await agent.woken_turn(Signal(JOB_ENDED, "cortex", {"job": handle}))
    [path] = (tmp_path / "displayed").iterdir()
    assert path.read_bytes() == png()
    assert path.name in out.getvalue().replace("\n", "").replace(" ", "")
    assert "# b" in out.getvalue()
    assert isinstance(model.sent[0][-1], PicturesMessage)
    assert model.sent[0][-1].pictures == shown[:1]


def test_only_the_signal_of_an_ended_job_names_one():
    assert ended_job(Signal(JOB_ENDED, "cortex", {"job": "job-1"})) == "job-1"
    for signal in (
        Signal("tick", "x", {"job": "job-1"}),
        Signal(JOB_ENDED, "cortex", {"job": 5}),
        Signal(JOB_ENDED, "c"),
    ):
        assert ended_job(signal) is None

"""Asks the owner by webhook: the question is sent, signed, and the answer is what comes back, signed by the owner.

Nothing listens here: the owner's server is asked again and again until it has an answer. An answer repeats the hash of
the question, so that no answer of another question, and none of before, fits.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from typing import TYPE_CHECKING, Any

import anyio

from cortex.channels import WebhookChannel, set_in
from cortex.text import PLAIN_COLUMNS
from cortex.tools import Decision
from neurons import ChannelError
from sandbox import JsonLimits, TooComplex, check_json

from .asked_question import MAX_WORDS

if TYPE_CHECKING:
    from cortex.channels import WebhookReply
    from neurons import OwnerSettings

    from .asked_question import AskedQuestion

log = logging.getLogger("motor_cortex")

BY = "owner (webhook)"
EVENT = "question_asked"
MAX_ANSWER_BYTES = 16_384
MAX_AT_ONCE = 4
_LIMITS = JsonLimits(containers=10, values=50)
_ANSWERED = 200
_ANSWERS = {"yes": True, "no": False}


class WebhookQuestions:
    """Asks at the owner's webhook. Raises ChannelError where the settings have none that may be used."""

    def __init__(self, settings: OwnerSettings, poll_s: float) -> None:
        self._channel = WebhookChannel(settings)
        self._secret = settings.webhook_secret.get_secret_value().encode() if settings.webhook_secret else b""
        self._poll_s = poll_s
        self._at_once: anyio.CapacityLimiter | None = None

    async def decision(self, asked: AskedQuestion, until: float) -> Decision:
        """Ask until there is an answer. Never returns without one."""
        if self._at_once is None:
            self._at_once = anyio.CapacityLimiter(MAX_AT_ONCE)
        body, shown, told = question_body(asked, until), asked.shown_hash, ""
        while True:
            try:
                async with self._at_once:
                    reply = await self._channel.ask(body, MAX_ANSWER_BYTES)
                if (decision := answer_in(reply, self._secret, shown)) is not None:
                    return decision
            except (ChannelError, BadAnswer) as error:
                if str(error) != told:  # once: it is asked again soon
                    log.warning("Question %s by webhook: %s", asked.id, error)
                    told = str(error)
            await anyio.sleep(self._poll_s)


class BadAnswer(Exception):
    """What came back is no answer to this question by the owner. The message says why, in words of ours."""


def question_body(asked: AskedQuestion, until: float) -> dict[str, Any]:
    """The JSON body. The same question has the same hash, however often it is sent."""
    return {
        "event": EVENT,
        "id": asked.id,
        "shownHash": asked.shown_hash,
        "expiresAt": until,
        # Safe to display: no text in these lines can control a terminal, hide, or pass for another line.
        "view": set_in(asked.lines(), PLAIN_COLUMNS),
        "tool": asked.tool,
        "arguments": asked.arguments,
        "leftOut": asked.left_out,
        "origin": asked.origin,
        "askedBy": asked.asked_by,
        "purpose": asked.purpose,
        "program": asked.program.name,
        "answer": f"cortex inbox answer {asked.id} yes --hash {asked.shown_hash[:12]}",
    }


def signature_of_answer(secret: bytes, body: bytes) -> str:
    """The signature of an answer. No request of ours has it: what they sign begins with a number."""
    return f"sha256={hmac.new(secret, b'answer.' + body, hashlib.sha256).hexdigest()}"


def answer_in(reply: WebhookReply, secret: bytes, shown_hash: str) -> Decision | None:
    """The owner's answer to the question with this hash; None while there is none. Raises BadAnswer."""
    if reply.status // 100 != 2:
        raise BadAnswer(f"the server answered with status {reply.status}")
    if reply.status != _ANSWERED or not reply.content.strip():
        return None
    expected = signature_of_answer(secret, reply.content).encode()
    if not hmac.compare_digest(expected, reply.signature.encode("utf-8", "surrogateescape")):
        raise BadAnswer("the answer is not signed with the webhook's secret")
    try:
        check_json(reply.content, _LIMITS)
        given = json.loads(reply.content)
    except (TooComplex, ValueError, RecursionError):
        raise BadAnswer("the answer is not JSON") from None
    if not isinstance(given, dict) or given.get("shownHash") != shown_hash:
        raise BadAnswer("the answer is to another question")
    said, reason = given.get("answer"), given.get("reason", "")
    if not isinstance(said, str) or said not in _ANSWERS or not isinstance(reason, str):
        raise BadAnswer('the answer is neither "yes" nor "no"')
    return Decision(_ANSWERS[said], reason[:MAX_WORDS], by=BY)

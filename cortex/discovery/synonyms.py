"""Synonyms: different words for the same thing in tool names and searches, whatever the tools are.

A module of its own because it is a table, which is edited without a look at the code of the index.
"""

from __future__ import annotations

from collections.abc import Sequence

from .words import stem

_ACT, _THING = 0.6, 0.4
"""What a synonym counts, for verbs and for nouns, where the word itself counts 1."""

# The words of a line can stand for each other. A word may be in several lines.
_ACTS = (
    "get fetch read retrieve show view list load display see look give tell print",
    "get check inspect describe detail",
    "search find query lookup locate look discover",
    "create add make new open insert register",
    "delete remove erase drop trash kill destroy",
    "update edit change modify set adjust rename",
    "send post notify write message tell inform",
    "run execute invoke trigger start launch",
    "rerun retry again",
    "stop cancel abort pause halt end",
    "write save store put upload",
    "upload attach",
    "close resolve finish complete",
    "open navigate visit go load",
    "move rename transfer",
    "copy duplicate clone",
    "share invite grant permission",
    "schedule book plan",
    "count number total aggregate report",
    "compare diff difference",
    "approve accept confirm",
    "reject decline deny",
    "reply answer respond comment",
    "merge combine join",
    "restart reboot",
    "refund reimburse",
    "charge bill pay",
    "follow watch subscribe",
    "scale resize replica",
    "click press tap",
    "type fill enter",
)
_THINGS = (
    "folder directory path",
    "page website site url link web",
    "message chat text",
    "email inbox mailbox",
    "issue ticket bug task",
    "person user member contact colleague",
    "customer client",
    "company organization business",
    "meeting event appointment call",
    "picture image photo screenshot",
    "song track music",
    "calendar agenda schedule",
    "error exception crash failure",
    "log output",
    "table column schema",
    "deploy release rollout",
    "build job pipeline workflow",
    "discount coupon promotion",
    "location place address",
    "route direction",
    "weather forecast",
    "permission access",
    "metric statistics measurement",
    "pod container",
    "server host node machine",
    "comment note remark",
    "label tag",
    "team group",
    "channel room",
    "deal opportunity",
    "invoice bill",
    "product item article",
    "order purchase",
    "stock inventory",
    "version release",
)


def _table() -> dict[str, tuple[tuple[str, float], ...]]:
    found: dict[str, dict[str, float]] = {}
    for lines, nearness in ((_ACTS, _ACT), (_THINGS, _THING)):
        for line in lines:
            group = [stem(word) for word in line.split()]
            for word in group:
                of_word = found.setdefault(word, {})
                of_word.update((other, max(nearness, of_word.get(other, 0))) for other in group if other != word)
    return {word: tuple(others.items()) for word, others in found.items()}


_RELATED = _table()


def related(word: str) -> Sequence[tuple[str, float]]:
    """The stems that mean nearly the same as this stem, and how near each is, from 0 to 1."""
    return _RELATED.get(word, ())

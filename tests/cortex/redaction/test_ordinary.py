"""No false alarm: numbers, hashes, dates and code of every day are left as they are."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path

import pytest

from cortex.redaction import Redactor
from cortex.redaction.scan import Scan
from cortex.settings.sections import RedactionSettings

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
ALL = RedactionSettings().kinds


def lines():
    for number, line in enumerate((HERE / "corpus" / "ordinary.txt").read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("#"):
            yield pytest.param(line, id=f"line-{number}")


def alarms(text):
    return [(span.kind, text[span.start : span.end]) for span in Scan(ALL).found(text)]


@pytest.mark.parametrize("line", list(lines()))
def test_ordinary_text_is_left_alone(line):
    assert alarms(line) == []
    assert alarms(json.dumps({"text": line})) == []
    value = {"name": line, "list": [line, {"text": line}]}
    assert Redactor(RedactionSettings()).value(value) == value


def test_thousands_of_ordinary_numbers_and_hashes_are_left_alone():
    chance = random.Random(6)
    made = {
        "id": lambda: chance.randrange(10**6, 10**12),
        "created": lambda: 1_600_000_000_000 + chance.randrange(10**11),
        "nanos": lambda: 1_600_000_000_000_000_000 + chance.randrange(10**17),
        "price": lambda: round(chance.uniform(0, 10_000), 2),
        "share": lambda: chance.random(),
        "place": lambda: [round(chance.uniform(-90, 90), 6), round(chance.uniform(-180, 180), 6)],
        "sha": lambda: f"{chance.getrandbits(160):040x}",
        "md5": lambda: f"{chance.getrandbits(128):032x}",
        "sha256": lambda: f"{chance.getrandbits(256):064x}",
        "uuid": lambda: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        "date": lambda: f"20{chance.randrange(10, 40)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
        "time": lambda: f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}",
        "version": lambda: ".".join(str(chance.randrange(40)) for _ in range(chance.choice((2, 3, 4)))),
        "order": lambda: f"{chance.randrange(1000):03}-{chance.randrange(10**7):07}-{chance.randrange(10**7):07}",
        "colour": lambda: f"#{chance.getrandbits(24):06x}",
        "mac": lambda: ":".join(f"{chance.randrange(256):02x}" for _ in range(6)),
    }
    rows = [{name: make() for name, make in made.items()} for _ in range(2_000)]
    assert Redactor(RedactionSettings()).value(rows) == rows
    assert alarms(json.dumps(rows)) == []


def test_nothing_in_a_program_is_taken_for_a_secret():
    """Our own, which has a megabyte. The addresses in its examples are what they are."""
    found = {}
    for folder in ("neurons", "sandbox", "deno"):
        for path in sorted((ROOT / folder).rglob("*.[pt][ys]")):
            for kind, value in alarms(path.read_text(encoding="utf-8")):
                found.setdefault((kind, value), path.name)
    assert {key: name for key, name in found.items() if key[0] not in {"email", "ip"}} == {}

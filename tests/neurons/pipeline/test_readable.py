"""What an owner cannot read in half a minute is not asked about."""

from __future__ import annotations

import pytest

from neurons import Refused
from neurons.pipeline.comments import is_mostly_comment
from neurons.pipeline.proposal import first_alike
from tests.neurons.governance import MAX_CODE_BYTES, Governed

LONG = "emit('price_change', 1);\n"
COMMENT = "// what the owner reads instead of the code, again and again\n"


def test_code_of_the_agent_that_no_owner_reads_is_refused():
    governed = Governed(proposals={"max_code_bytes": 1_000})
    with pytest.raises(Refused, match="the code has 1025 bytes, and an owner is asked to read at most 1000"):
        governed.in_quarantine(code=LONG * 41)
    neuron = governed.in_quarantine(code=LONG * 40)
    assert governed.modify(neuron.id, LONG * 41, max_code_bytes=MAX_CODE_BYTES).version == 2
    with pytest.raises(Refused, match="at most 4096"):
        Governed().in_quarantine(code=LONG * 170)


def test_code_that_is_mostly_comment_is_refused():
    with pytest.raises(Refused, match="mostly comment"):
        Governed().in_quarantine(code=COMMENT * 30 + LONG)
    assert Governed().in_quarantine(code=COMMENT * 3 + LONG).version == 1


@pytest.mark.parametrize(
    "code",
    [
        "x();" * 200 + COMMENT * 8,
        f'const text = "{COMMENT.strip() * 20}";',
        f"const text = `{COMMENT * 20}`;",
        f"const text = 'it\\'s {COMMENT.strip() * 20}';",
        "const url = 'https://api.example.com/';" * 40,
        COMMENT * 4,
    ],
)
def test_texts_and_short_comments_are_code(code):
    assert not is_mostly_comment(code)


@pytest.mark.parametrize("code", [COMMENT * 20, f"/* {COMMENT * 20} */ emit(1)", f"emit(1) /* {COMMENT * 20}"])
def test_comments_of_each_kind_count(code):
    assert is_mostly_comment(code)


@pytest.mark.parametrize("hostile", ["/*", "//", '"', "'", "`", "\\", "`${", "*/", "/**"])
def test_hostile_code_is_looked_at_once(hostile):
    is_mostly_comment(hostile * (1_000_000 // len(hostile)))  # in a time that grows with its length, or never ends


@pytest.mark.parametrize("name", ["Echo neuron", "echo-neurons", "EchoNeuron", "Neuron Echo", "Echo function"])
def test_a_name_with_the_word_for_its_kind_is_too_similar(name):
    assert first_alike(name, ["Other", "Echo"]) == "Echo"
    assert first_alike("Echo", [name]) == name


def test_other_names_are_not_similar():
    assert first_alike("Echo two", ["Echo"]) is None
    assert first_alike("Neuron", ["Function"]) is None


def test_a_proposal_beside_a_neuron_of_nearly_its_name_is_refused():
    governed = Governed()
    governed.in_trial(name="Echo")
    with pytest.raises(Refused, match='"Echo neuron" is taken, or too much like "Echo"'):
        governed.in_quarantine(name="Echo neuron")

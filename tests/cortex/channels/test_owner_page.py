"""What an owner is shown in thirty seconds, byte for byte. A change of these bytes changes what people consent to."""

from __future__ import annotations

import pytest

from cortex.channels import owner_view, set_in
from cortex.channels.owner_facts import cost_sentence, energy_a_day, sentence, signals_a_day, span
from cortex.channels.owner_reach import MAX_SHOWN, reach_lines
from cortex.channels.webhook import body_of
from cortex.text import columns_of
from neurons import Around, Metadata, Notice
from tests.cortex.channels.hook_server import proposal
from tests.cortex.channels.owner_pages import (
    COLLECTOR,
    COLUMNS,
    POSTER,
    PRICE,
    SNAPSHOTS,
    approved_before,
    as_text,
    pages,
    report,
    utc,
)

with utc():
    PAGES = pages()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_the_bytes_of_the_snapshot(name):
    shown = (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")
    assert as_text(PAGES[name]) == shown, (
        "what owners read has changed; if that is meant: python -m tests.cortex.channels.owner_pages"
    )


def test_every_snapshot_is_of_a_page():
    assert {path.stem for path in SNAPSHOTS.glob("*.txt")} == PAGES.keys()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_no_line_is_wider_than_a_terminal(name):
    assert max(map(columns_of, PAGES[name])) <= COLUMNS


def test_no_word_of_the_agent_is_in_the_sentence():
    plain = proposal(**PRICE)
    words = Metadata(created_at="now", code_hash="ab" * 32, purpose="Only looks, and is safe", habit="safe")
    other = proposal(**PRICE, name="Harmless", metadata=words, code="// safe\nemit('x')")
    assert sentence(plain, Around()) == sentence(other, Around())
    assert cost_sentence(plain, Around()) == cost_sentence(other, Around())


def test_the_cost_of_a_day_is_that_of_its_schedules_and_of_the_clock():
    both = proposal(**{**PRICE, "input_signals": ("tick", "hour_changed")}, report=report())
    assert signals_a_day(both, Around(tick_s=60)) == 96 + 1440 + 24
    assert energy_a_day(both, Around(tick_s=60)) == pytest.approx(1560 * 0.0021)
    assert signals_a_day(proposal(input_signals=("tick", "sold")), Around()) is None
    weekdays = proposal(**{**PRICE, "schedules": ({"at": "09:00 mon-fri"},)})
    assert signals_a_day(weekdays, Around()) == pytest.approx(5 / 7)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(60, "minute"), (900, "15 minutes"), (90, "90 seconds"), (86_400, "day"), (0.5, "0.5 seconds")],
)
def test_spans_are_told_in_the_largest_unit_that_fits(seconds, told):
    assert span(seconds) == told


def test_the_webhook_has_the_page_of_the_terminal():
    neuron = proposal(**COLLECTOR)
    around = Around((proposal(**POSTER),), recharge_a_day=100)
    body = body_of(Notice("", neuron, "ef" * 32, None, around))
    assert body["view"] == set_in(owner_view(neuron, None, around), COLUMNS)
    assert any("Poster (active)" in line for line in body["view"])


def test_a_ring_of_neurons_that_hear_each_other_is_shown_once_and_many_are_counted():
    ringing = {**POSTER, "output_signals": ("s0", "s1")}
    ring = [proposal(**{**ringing, "id": f"n-{n}", "name": f"Ring {n}", "input_signals": (f"s{n}",)}) for n in range(2)]
    heard = list(reach_lines(ring[0], ring))
    assert [line.split()[:2] for line in heard] == [["heard", "by"], ["hears", "Ring"]]
    many = [proposal(**{**POSTER, "id": f"p-{n}", "name": f"Poster {n}"}) for n in range(MAX_SHOWN + 3)]
    lines = list(reach_lines(proposal(**COLLECTOR), many))
    assert len(lines) == MAX_SHOWN + 1
    assert "3 more neurons" in lines[-1]


def test_a_disabled_neuron_hears_nothing():
    assert list(reach_lines(proposal(**COLLECTOR), [proposal(**{**POSTER, "status": "disabled"})])) == []


def test_the_difference_is_against_what_was_approved_and_not_against_what_a_document_says_of_it():
    neuron = approved_before(PRICE, code="emit('price_change', 2);")
    first = neuron.versions[0].model_copy(update={"code": "emit('price_change', 1);"})
    edited = neuron.model_copy(update={"versions": (first, neuron.versions[1])})
    assert any("changed" in line for line in owner_view(neuron))
    assert not any("changed" in line for line in owner_view(edited))
    unsigned = Around(is_signed=lambda *_: False)
    assert not any("changed" in line for line in owner_view(neuron, None, unsigned))


def test_hidden_characters_are_spelled_out_in_the_difference():
    lines = owner_view(approved_before({**PRICE, "code": "emit(1)"}, code="emit(1)\u202e"))
    assert "  | + emit(1)⟨U+202E⟩" in lines

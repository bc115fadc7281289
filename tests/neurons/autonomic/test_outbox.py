"""What leaves a neuron for a person or the model is written first, with the state that came of it."""

from __future__ import annotations

import pytest

from neurons import Neuron
from neurons.contracts import emission_text
from sandbox.testing import NeuronFunction

from ..layer import Layer, settled, until

pytestmark = pytest.mark.anyio


def counting(signal, state, emit) -> None:
    state["n"] = state.get("n", 0) + 1
    emit("price_change", {"n": state["n"]})


def layer(function: NeuronFunction = counting, **changes: object) -> tuple[Layer, Neuron]:
    made = Layer(function)
    return made, made.trial(**changes)


class TestText:
    def test_fields_of_the_data_are_filled_in_and_nothing_else(self) -> None:
        data = {"usd": 5.0, "name": "{usd}", "deep": {"a": 1}}
        said = emission_text("{name}: {usd} {missing} {deep.a} {0} {usd!r} {usd.real} {deep}", "x", data)
        assert said == '{usd}: 5 ? {deep.a} {0} {usd!r} {usd.real} {"a":1}'

    def test_it_is_one_line_of_bounded_length_in_which_nothing_hides(self) -> None:
        said = emission_text("Price: {x}", "x", {"x": "a\n\x1b[31mb\u202ec\u200b\ud800" + "y" * 100_000})
        assert said.startswith("Price: a ⟨U+001B⟩[31mb⟨U+202E⟩c⟨U+200B⟩⟨U+D800⟩yyy")
        assert len(said) <= 500
        assert said.endswith("…")
        assert len(emission_text("", "x", ["\u202e" * 16_000])) <= 500
        assert len(emission_text("{a}" * 160, "x", {"a": "b" * 16_000})) <= 500

    def test_a_field_is_written_out_once_however_often_the_template_names_it(self) -> None:
        written: list[int] = []

        class Field:
            def __str__(self) -> str:
                written.append(1)
                return "much"

        assert emission_text("{a} {a} {a}", "x", {"a": Field()}) == '"much" "much" "much"'
        assert written == [1]

    def test_without_a_template_it_is_the_type_and_the_data(self) -> None:
        assert emission_text("", "low_stock", {"left": 3}) == 'low_stock {"left":3}'
        assert emission_text("", "low_stock", None) == "low_stock"
        assert emission_text("{data} left", "low_stock", 3) == "3 left"


class TestOutbox:
    @pytest.mark.parametrize("action", ["notify", "answer", "wake"])
    async def test_it_is_in_the_document_with_its_state_and_counts_before_anyone_hears_it(self, action: str) -> None:
        made, neuron = layer(emission={"action": action})
        found: list[Neuron] = []
        async with made.open() as autonomic:
            # By a reader of the disk alone: what is only in memory does not count.
            autonomic.watch(
                lambda signal: (
                    found.append(made.governed.restarted().store.get(neuron.id))
                    if signal.type == "price_change"
                    else None
                )
            )
            autonomic.emit("tick")
            await settled(autonomic)
        [seen] = found
        assert seen.state == {"n": 1}
        assert seen.trial is not None
        assert seen.trial.counters.signals == 1
        letters = made.governed.storage.read("mail/emissions")
        assert letters is not None
        assert [one["signal"]["data"] for one in letters.data["letters"]] == [{"n": 1}]
        assert seen.last_emission is not None
        assert (seen.last_emission.type, seen.last_emission.text) == ("price_change", 'price_change {"n":1}')

    async def test_what_cannot_be_written_does_not_leave_and_leaves_once_it_can(self, monkeypatch) -> None:
        made, neuron = layer()
        heard: list[object] = []
        store = made.governed.store
        change = store.change

        def refused(*args: object, **kwargs: object) -> Neuron:
            raise OSError("the disk is full")

        async with made.open() as autonomic:
            autonomic.watch(lambda signal: heard.append(signal.data) if signal.type == "price_change" else None)
            monkeypatch.setattr(store, "change", refused)
            autonomic.emit("tick")
            await until(lambda: "the disk is full" in autonomic.overview().trouble)
            assert heard == []
            monkeypatch.setattr(store, "change", change)
            await until(lambda: heard)
            await settled(autonomic)
        assert heard == [{"n": 1}]
        assert made.document(neuron).state == {"n": 1}

    async def test_emissions_that_do_nothing_are_not_kept_and_not_written_at_once(self) -> None:
        made, neuron = layer(emission={"action": "none"})
        async with made.open() as autonomic:
            autonomic.emit("tick")
            await settled(autonomic)
        document = made.document(neuron)
        assert document.outbox == ()
        assert document.last_emission is None or document.last_emission.type == "price_change"

    async def test_nothing_leaves_a_neuron_that_was_stopped_before_it_was_written(self) -> None:
        made, neuron = layer()
        heard: list[object] = []
        async with made.open() as autonomic:
            await autonomic.idle()
            made.governed.disable(neuron.id, "enough")
            autonomic.watch(lambda signal: heard.append(signal) if signal.type == "price_change" else None)
            autonomic.emit("tick")
            await settled(autonomic)
        assert heard == []
        assert made.document(neuron).outbox == ()

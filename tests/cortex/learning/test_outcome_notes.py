"""What becomes of a proposal comes back to the model that made it: once, of one process, while it is news."""

from __future__ import annotations

import pytest

from cortex.learning.outcome_notes import KEY, MAX_AGE_S, MAX_REASON, OutcomeNotes
from neurons import Neuron, Refused
from tests.neurons.governance import Governed, proposal, report_of, seen_as, shown


class Home:
    """Neurons with their pipeline, and the notes about them."""

    def __init__(self) -> None:
        self.governed = Governed()
        self.notes = self.process()

    def process(self) -> OutcomeNotes:
        storage = self.governed.storage
        return OutcomeNotes(self.governed.store, storage, now=lambda: self.governed.clock())

    def waiting(self, **changes: object) -> Neuron:
        self.governed.clock.forward(seconds=1)
        return self.governed.waiting(**changes)

    def failed(self, *problems: str, **changes: object) -> None:
        self.governed.clock.forward(seconds=1)
        neuron = self.governed.in_quarantine(**changes)
        self.governed.judged(neuron.id, report_of(neuron, *problems, at=self.governed.clock()))

    def approve(self, neuron: Neuron) -> None:
        self.governed.clock.forward(seconds=1)
        self.governed.approve(neuron.id, shown(neuron))

    def reject(self, why: str = "no") -> None:
        self.governed.reject(self.waiting().id, why)

    def stop(self, neuron: Neuron, why: str) -> None:
        self.governed.clock.forward(seconds=1)
        self.governed.disable(neuron.id, why)

    async def texts(self, notes: OutcomeNotes | None = None) -> list[str]:
        return [due.text for due in await (notes or self.notes).look()]

    async def tell(self) -> list[str]:
        found = await self.notes.look()
        for due in found:
            assert self.notes.claim(due.key)
            self.notes.told(due.key)
        return [due.text for due in found]


@pytest.fixture
async def home() -> Home:
    home = Home()
    assert await home.texts() == []  # from here on, what happens is told
    return home


async def test_each_outcome_is_told_once(home):
    neuron = home.waiting()
    assert await home.tell() == []
    home.approve(neuron)
    [text] = await home.tell()
    assert "the owner approved it, and it is on trial" in text
    home.stop(neuron, "too loud")
    [text] = await home.tell()
    assert 'the owner stopped it (the reason, as data: "too loud")' in text
    assert neuron.name in text
    assert neuron.id in text
    assert await home.tell() == await home.texts(home.process()) == []


async def test_a_rejection_and_a_failure_say_why(home):
    home.reject("not\nuseful\x07")
    [text] = await home.tell()
    assert (
        r'the owner rejected it; do not propose it again unless the owner asks for it (the reason, as data: "not useful\u0007")'
        in text
    )
    home.failed("it emits nothing", name="Other")
    [text] = await home.tell()
    assert "failed its quarantine" in text
    assert "it emits nothing" in text


async def test_several_outcomes_of_one_neuron_are_one_note_in_order(home):
    neuron = home.waiting()
    home.approve(neuron)
    home.stop(neuron, "")
    [text] = await home.tell()
    assert text.index("approved") < text.index("; then the owner stopped it.")


async def test_an_outcome_is_told_by_one_process_and_by_another_when_that_could_not(home):
    other = home.process()
    home.reject()
    [due] = await home.notes.look()
    assert (home.notes.claim(due.key), other.claim(due.key)) == (True, False)
    assert await other.look() == []
    home.notes.given_back(due.key)
    assert other.claim(due.key)
    home.governed.clock.at += 3_600  # that process has died
    assert home.notes.claim(due.key)
    home.notes.told(due.key)
    assert not other.claim(due.key)


async def test_what_was_decided_long_ago_is_no_news(home):
    home.reject()
    home.governed.clock.at += MAX_AGE_S + 1
    assert await home.texts() == []


async def test_a_fresh_copy_of_a_home_tells_nothing_of_what_has_happened_before():
    home = Home()
    home.reject()
    assert await home.texts() == await home.texts() == []
    assert home.governed.storage.read(KEY) is not None


async def test_a_document_that_was_edited_by_hand_ends_nothing(home):
    home.reject()
    for damage in (
        {"heard": 3},
        {"heard": {"crypto-price": 7}},
        {"heard": {"crypto-price": {"at": "x", "claimed": []}}},
    ):
        home.governed.storage.write_through(KEY, damage)
        assert len(await home.texts()) == 1


async def test_a_long_reason_is_cut(home):
    home.reject("x" * 400)
    [text] = await home.texts()
    assert "x" * MAX_REASON in text
    assert "x" * (MAX_REASON + 1) not in text


async def test_the_same_failing_code_is_not_taken_again_under_another_name_and_better_code_is(home):
    home.failed("it emits too much", code="emit('price_change', 1)")
    with pytest.raises(Refused, match=r'has failed as "CryptoPrice" \(quarantine: it emits too much\)'):
        home.waiting(name="Quite another", code="emit( 'price_change', 1 )")
    assert home.waiting(name="Quite another", code="emit('price_change', 2)").name == "Quite another"
    assert home.waiting(name="With more", code="emit('price_change', 1)", energyBudget=0.5).name == "With more"


def test_code_of_the_same_shape_is_the_same_unless_a_literal_was_corrected():
    governed, found = Governed(), seen_as("a shape")

    def propose(code: str, name: str) -> Neuron:
        return governed.propose(proposal(name=name, code=code), found=found, max_code_bytes=1_000)

    neuron = propose("const a = 1; emit('price_change', a)", "First")
    governed.judged(neuron.id, report_of(neuron, "no"), found=found)
    with pytest.raises(Refused, match="has failed"):
        propose("const other = 1; emit('price_change', other)", "Second")
    propose("const other = 2; emit('price_change', other)", "Third")

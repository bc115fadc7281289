"""Emissions are delivered once on a home, and signals of every program reach the one that runs the neurons."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from neurons import Autonomic, DeferredStorage, Emitted, LayerState, Signal
from neurons.autonomic.mail import MAX_BYTES, MAX_LETTERS, Letter, Mail, as_outgoing
from neurons.autonomic.post_office import letter_of
from neurons.autonomic.programs import Programs
from sandbox import FileLock

from ..governance import Governed
from ..layer import Layer, settled, until

pytestmark = pytest.mark.anyio


class Box:
    """A courier that keeps what it is given."""

    def __init__(self, *actions: str) -> None:
        self.actions = frozenset(actions)
        self.given: list[Emitted] = []

    def takes(self, emitted: Emitted) -> bool:
        return True

    async def deliver(self, emitted: Emitted) -> Sequence[str]:
        await anyio.lowlevel.checkpoint()
        self.given.append(emitted)
        return ("host",)


class Picky(Box):
    def __init__(self, *actions: str) -> None:
        super().__init__(*actions)
        self.asked = 0

    def takes(self, emitted: Emitted) -> bool:
        self.asked += 1
        return False


class Slow(Box):
    """A channel that takes its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__("notify")
        self.begun = 0
        self._seconds = seconds

    async def deliver(self, emitted: Emitted) -> Sequence[str]:
        self.begun += 1
        await anyio.sleep(self._seconds)
        return await super().deliver(emitted)


def counting(signal, state, emit) -> None:
    state["n"] = state.get("n", 0) + 1
    emit("price_change", {"n": state["n"]})


class House:
    """A home with several programs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first = Layer(counting, governed=Governed(DeferredStorage(path)))
        self.storages: list[DeferredStorage] = []

    def flush(self) -> None:
        """What a flusher does in a program."""
        for storage in self.storages:
            storage.flush()

    @asynccontextmanager
    async def program(self, box: Box | None = None, *, runner: bool = False) -> AsyncIterator[Autonomic]:
        storage = DeferredStorage(self.path)
        self.storages.append(storage)
        governed = Governed(storage, clock=self.first.clock)
        layer = Layer(counting, governed=governed)
        layer.killed = self.first.killed
        lock = FileLock(self.path / "lead.lock")
        async with layer.open(lock=lock, courier=box, runner=runner) as autonomic:
            yield autonomic
        storage.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.first.governed.storage.close()


def letter(number: int, **changes: object) -> Letter:
    signal = Signal("price_change", "neuron:a", {"n": number}, at=1.0, id=f"id{number}")
    return Letter.model_validate({"signal": as_outgoing(signal), "source": "neuron:a", "action": "wake", **changes})


class TestMail:
    def test_a_letter_is_added_once_and_taken_once(self, tmp_path: Path) -> None:
        one, two = Mail(DeferredStorage(tmp_path)), Mail(DeferredStorage(tmp_path))
        one.publish([letter(1), letter(2)])
        two.publish([letter(2), letter(3)])
        assert [each.n for each in two.read().letters] == [1, 2, 3]
        assert [each.signal.id for each in one.take(lambda _: True, "one")] == ["id1", "id2", "id3"]
        assert two.take(lambda _: True, "two") == []
        two.publish([letter(1)])
        assert two.take(lambda _: True, "two") == []

    def test_many_letters_make_way_and_what_was_delivered_goes_first(self, tmp_path: Path) -> None:
        mail = Mail(DeferredStorage(tmp_path))
        mail.publish([letter(number) for number in range(50)])
        mail.take(lambda each: each.signal.id != "id0", "x")
        mail.publish([letter(number) for number in range(50, 50 + MAX_LETTERS - 1)])
        letters = mail.read().letters
        assert len(letters) == MAX_LETTERS
        assert letters[0].signal.id == "id0"

    def test_what_is_no_letter_and_no_signal_of_a_program_is_left_out(self, tmp_path: Path) -> None:
        storage = DeferredStorage(tmp_path)
        mail = Mail(storage)
        mail.publish([letter(1)])
        found = storage.read("mail/emissions")
        assert found is not None
        good = found.data["letters"][0]
        bad = [{**good, "action": "approve"}, {**good, "text": "x" * 501}, {**good, "more": 1}, 5, None, []]
        storage.write_through("mail/emissions", {"newest": "x", "known": {}, "letters": [*bad, good]})
        assert [each.signal.id for each in mail.read().letters] == ["id1"]
        assert mail.dropped == len(bad)

        def posted(type_: str, source: str, at: float = 1.0) -> dict[str, object]:
            return {"signal": as_outgoing(Signal(type_, source, at=at)).model_dump(by_alias=True), "source": source}

        storage.write_through(
            "mail/signals",
            {
                "signals": [
                    posted("sold", "neuron:a"),
                    posted("schedule", "host"),
                    posted("Bad Type", "host"),
                    posted("sold", "host", at=99.0),
                    posted("user_message", "cortex"),
                    posted("sold", "host"),
                ]
            },
        )
        assert [each.type for each in mail.take_posted(2.0)] == ["user_message", "sold"]
        assert mail.take_posted(2.0) == []


SHAPES = {
    "torn": b'{"revision":3,"newest":1,"known":["id1"],"letters":[{"signal":{"id":"id1","ty',
    "huge": b'{"revision":3,"letters":[' + b"[]," * 700_000 + b"[]]}",
    "deep": b'{"revision":3,"letters":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "no JSON": b"\x00\xff" * 100,
    "empty": b"",
    "a list": b"[]",
    "no entries": b'{"revision":3,"letters":"all of them","signals":{"a":1}}',
    "large and whole": b'{"revision":3,"letters":[],"signals":[],"x":"' + b"x" * 3_000_000 + b'"}',
    "large numbers": b'{"revision":3,"letters":' + b"9" * 3_000_000 + b"}",
}


class TestBadMail:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_a_document_that_is_no_mail_is_set_aside_and_named_and_mail_goes_on(
        self, tmp_path: Path, shape: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        mail = Mail(DeferredStorage(tmp_path))
        mail.publish([letter(1)])
        for name in ("emissions", "signals"):
            (tmp_path / "mail" / f"{name}.json").write_bytes(SHAPES[shape])
        assert mail.take_posted(2.0) == []
        assert mail.read().letters == []
        assert mail.take(lambda _: True, "me") == []
        aside = {path.name for path in (tmp_path / "mail").glob("*.damaged-1")}
        assert aside == {"emissions.json.damaged-1", "signals.json.damaged-1"}
        for name in ("emissions", "signals"):
            assert f'Cannot read "mail/{name}": ' in caplog.text
        mail.publish([letter(2)])
        mail.post([Signal("sold", "host", at=1.0)])
        assert [each.signal.id for each in Mail(DeferredStorage(tmp_path)).read().letters] == ["id2"]
        assert [each.type for each in mail.take_posted(2.0)] == ["sold"]

    def test_entries_that_are_none_are_told_once_in_the_log(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        storage = DeferredStorage(tmp_path)
        mail = Mail(storage)
        storage.write_through("mail/emissions", {"letters": [1, None]})
        for _ in range(3):
            assert mail.read().letters == []
        assert caplog.text.count("2 of 2 letters in") == 1

    def test_names_that_no_program_gives_do_not_keep_mail_from_being_written(self, tmp_path: Path) -> None:
        storage = DeferredStorage(tmp_path)
        storage.write_through("mail/emissions", {"letters": [], "known": ["x" * 1_000_000]})
        mail = Mail(storage)
        large = {"text": "x" * 16_000}
        for start in range(0, 120, 40):
            signals = [Signal("sold", "neuron:a", large, at=1.0, id=f"i{start + n}") for n in range(40)]
            mail.publish([letter_of(one, name="", action="wake", text="") for one in signals])
        assert mail.read().newest == 120
        assert len((tmp_path / "mail" / "emissions.json").read_bytes()) < 1.5 * MAX_BYTES

    async def test_the_layer_goes_on_whatever_is_put_into_the_mail(self, house: House) -> None:
        house.first.trial(emission={"action": "wake"})
        box = Box("wake")
        async with house.program(box) as leader, house.program() as other:
            for shape in SHAPES.values():
                for name in ("emissions", "signals"):
                    (house.path / "mail").mkdir(exist_ok=True)
                    # As a program that is killed in the middle of a write of its own: not under our lock.
                    (house.path / "mail" / f"{name}.json").write_bytes(shape)
                given = len(box.given)
                assert other.emit("tick")
                await until(lambda before=given: len(box.given) > before)
            assert leader.overview().state is LayerState.LEADING

    def test_a_program_that_says_too_much_of_itself_is_set_aside(self, tmp_path: Path) -> None:
        storage = DeferredStorage(tmp_path)
        Programs(storage, "one").note(100.0, runner=True)
        (tmp_path / "programs" / "big.json").write_bytes(b'{"revision":1,"at":100.0,"x":"' + b"x" * 5_000 + b'"}')
        assert Programs(storage, "two").others(101.0).listen
        assert (tmp_path / "programs" / "big.json.damaged-1").exists()


class TestDelivery:
    async def test_each_emission_is_delivered_once_with_the_text_that_was_approved(self, house: House) -> None:
        neuron = house.first.trial(emission={"action": "notify", "text": "Now {n}"})
        box = Box("notify")
        async with house.program(box) as autonomic:
            for _ in range(2):
                autonomic.emit("tick")
                await settled(autonomic)
            await until(lambda: len(box.given) == 2)
            await until(lambda: autonomic.overview().nerves[0].neuron.outbox == ())
            await anyio.sleep(0.3)
        assert house.first.document(neuron).outbox == ()
        assert sorted(each.text for each in box.given) == ["Now 1", "Now 2"]
        assert {each.neuron for each in box.given} == {neuron.id}
        last = house.first.document(neuron).last_emission
        assert last is not None
        assert (last.text, last.told) == ("Now 2", ("host",))
        async with house.program(box) as autonomic:
            await settled(autonomic)
            await anyio.sleep(0.5)
        assert len(box.given) == 2

    @pytest.mark.parametrize("action", ["wake", "answer"])
    async def test_it_goes_to_exactly_one_program_that_can_do_it(self, house: House, action: str) -> None:
        house.first.trial(emission={"action": action})
        boxes = [Box("notify"), Box(action), Box(action), Box("notify")]
        async with AsyncExitStack() as stack:
            programs = [await stack.enter_async_context(house.program(box)) for box in boxes]
            programs[0].emit("tick")
            await settled(programs[0])
            house.first.clock.forward(seconds=20)  # the program that asked cannot say it
            await until(lambda: any(box.given for box in boxes))
            await anyio.sleep(0.6)
        assert [len(box.given) for box in (boxes[0], boxes[3])] == [0, 0]
        assert sum(len(box.given) for box in boxes) == 1

    async def test_what_was_written_and_not_told_is_told_after_a_restart(self, house: House) -> None:
        house.first.trial(emission={"action": "wake"})
        async with house.program() as autonomic:
            autonomic.emit("tick")
            await settled(autonomic)
        box = Box("wake")
        async with house.program(box):
            await until(lambda: box.given)
        assert [each.signal.data for each in box.given] == [{"n": 1}]

    async def test_while_the_kill_switch_is_on_nothing_is_delivered(self, house: House) -> None:
        house.first.trial(emission={"action": "wake"})
        async with house.program() as autonomic:
            autonomic.emit("tick")
            await settled(autonomic)
        house.first.killed.add(None)
        box = Box("wake")
        async with house.program(box):
            await anyio.sleep(0.6)
            assert box.given == []
            house.first.killed.clear()
            await until(lambda: box.given)

    @pytest.mark.parametrize("action", ["wake", "answer"])
    async def test_a_neuron_that_was_disabled_says_nothing_more(self, house: House, action: str) -> None:
        neuron = house.first.trial(emission={"action": action})
        async with house.program() as autonomic:
            autonomic.emit("tick")
            await settled(autonomic)
        house.first.governed.disable(neuron.id, "enough")
        box = Box(action)
        async with house.program(box):
            await anyio.sleep(0.6)
        assert box.given == []

    async def test_wakes_of_both_kinds_count_in_one_limit(self, tmp_path: Path) -> None:
        made = Layer(
            counting, governed=Governed(DeferredStorage(tmp_path), wake_on=["host_news"], max_wakes_per_hour=2)
        )
        made.trial(emission={"action": "wake"})
        box = Box("wake")
        async with made.open(courier=box) as autonomic:
            for _ in range(2):
                autonomic.emit("host_news")
            await until(lambda: len(made.woken) == 2)
            autonomic.emit("tick")
            await settled(autonomic)
            await anyio.sleep(0.5)
            assert autonomic.counts().dropped["no_wake"] == 1
        assert box.given == []

    async def test_what_a_program_cannot_say_is_left_for_another(self, house: House) -> None:
        house.first.trial(emission={"action": "answer"})
        picky, box = Picky("answer"), Box("answer")
        async with house.program(picky) as first:
            first.emit("tick")
            await settled(first)
            await until(lambda: picky.asked)
            await anyio.sleep(0.6)
            assert picky.given == []
        async with house.program(box):
            house.first.clock.forward(seconds=20)  # the program that asked has ended
            await until(lambda: box.given)
        assert picky.given == []

    async def test_a_program_that_ends_tells_the_owner_to_the_end_what_it_has_taken(
        self, house: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        neuron = house.first.trial(emission={"action": "notify"})
        slow = Slow(0.3)
        async with house.program(slow) as autonomic:
            autonomic.emit("tick")
            await settled(autonomic)
            await until(lambda: slow.begun)
        assert len(slow.given) == 1
        last = house.first.document(neuron).last_emission
        assert last is not None
        assert last.told == ("host",)

        monkeypatch.setattr("neurons.autonomic.post_office.LAST_S", 0.1)
        hangs = Slow(3_600)
        with anyio.fail_after(60):
            async with house.program(hangs) as autonomic:
                autonomic.emit("tick")
                await settled(autonomic)
                await until(lambda: hangs.begun)
        assert hangs.given == []


class TestPrograms:
    async def test_signals_of_every_program_reach_the_neurons_and_emissions_reach_every_program(
        self, house: House
    ) -> None:
        house.first.trial(emission={"action": "none"})
        heard: list[object] = []
        async with house.program() as leader, house.program() as other:
            assert leader.overview().state is LayerState.LEADING
            assert other.overview().state is LayerState.STANDBY
            other.watch(lambda signal: heard.append(signal.data) if signal.type == "price_change" else None)
            # It takes a moment until the one knows of the other.
            for _ in range(100):
                assert other.emit("user_message", {"text": "tick"})
                assert other.emit("sold", {}, priority=3)
                leader.emit("tick")
                await anyio.sleep(0.1)
                if heard:
                    break
            await until(lambda: leader.counts().unheard >= 2)
            assert other.counts().dropped == {}
        assert heard

    async def test_who_runs_neurons_by_chance_hands_over_to_a_program_that_only_does_that(self, house: House) -> None:
        neuron = house.first.trial()
        async with house.program() as chance:
            chance.emit("tick")
            await settled(chance)
            async with house.program(runner=True) as runner:
                await until(lambda: runner.overview().state is LayerState.LEADING)
                assert chance.overview().state is LayerState.STANDBY
                assert house.first.document(neuron).state == {"n": 1}
                await until(lambda: runner.overview().nerves)
                chance.emit("tick")
                runner.emit("tick")
                await settled(runner)
                await until(lambda: runner.counts().delivered == 2)
            # And takes over again when that ends.
            await until(lambda: chance.overview().state is LayerState.LEADING)
        assert house.first.document(neuron).state == {"n": 3}

    def test_a_program_that_has_ended_is_forgotten(self, tmp_path: Path) -> None:
        storage = DeferredStorage(tmp_path)
        one, two = Programs(storage, "one"), Programs(storage, "two")
        two.note(100.0, runner=True)
        assert one.others(101.0).runner_waits
        assert not two.others(101.0).listen
        assert not one.others(120.0).listen
        storage.write_through("programs/odd", {"at": "x", "runner": True})
        assert not one.others(200.0).runner_waits
        assert storage.read_all("programs/") == []


class TestAnswers:
    async def test_neurons_answer_at_most_max_answers_per_day_also_after_a_restart(self, tmp_path: Path) -> None:
        made = Layer(counting, governed=Governed(DeferredStorage(tmp_path), max_answers_per_day=2))
        made.trial(emission={"action": "answer"})
        heard: list[object] = []
        box = Box("answer")
        async with made.open(courier=box) as autonomic:
            autonomic.watch(lambda signal: heard.append(signal.data) if signal.type == "price_change" else None)
            for _ in range(3):
                autonomic.emit("tick")
                await settled(autonomic)
            await until(lambda: len(box.given) == 2)
            await until(lambda: len(heard) == 3)
            assert autonomic.counts().dropped["no_answer"] == 1
        again = Layer(counting, governed=Governed(DeferredStorage(tmp_path), clock=made.clock, max_answers_per_day=2))
        async with again.open(courier=box) as autonomic:
            autonomic.emit("tick")
            await settled(autonomic)
            assert autonomic.counts().dropped["no_answer"] == 1
            made.clock.forward(seconds=86_401)
            autonomic.emit("tick")
            await settled(autonomic)
            await until(lambda: len(box.given) == 3)

    async def test_every_program_knows_which_signals_a_neuron_answers(self, house: House) -> None:
        house.first.trial(emission={"action": "answer"})
        async with house.program() as leader, house.program() as other:
            await settled(leader)
            assert await leader.will_answer("tick")
            assert not await leader.will_answer("user_message")
            with anyio.fail_after(60):
                while not await other.will_answer("tick"):
                    await leader.refresh()
                    house.flush()
                    await anyio.sleep(0.05)
            assert not await other.will_answer("user_message")

    async def test_an_answer_is_first_for_the_program_that_asked(self, house: House) -> None:
        house.first.trial(emission={"action": "answer"})
        boxes = [Box("answer"), Box("answer")]
        async with house.program(boxes[0]) as leader, house.program(boxes[1]) as other:
            await settled(leader)
            assert other.emit("tick")
            await until(lambda: boxes[1].given)
            await anyio.sleep(0.5)
        assert boxes[0].given == []

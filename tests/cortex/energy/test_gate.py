"""Whether energy suffices, and when it will: numbers in, numbers and words out."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, strategies as st

from cortex.energy import (
    Affordable,
    Insufficient,
    energy_note,
    explain,
    forecast,
    in_about,
    prices,
    recharged,
    rounded_down,
    weigh,
)
from cortex.settings.sections import EnergySettings
from sandbox import Tier

SEED = EnergySettings(recharge_per_minute=0.05)
ISOLATED, NETWORK = Tier.ISOLATED, Tier.NETWORK

shares = st.floats(0, 1)
durations = st.floats(0, 1e7)
settings = st.builds(
    EnergySettings,
    recharge_per_minute=st.just(0.0) | st.floats(1e-6, 100),
    cost_isolated=shares,
    cost_network=shares,
    floor_isolated=shares,
    floor_network=shares,
)
tiers = st.sampled_from(Tier)


@pytest.mark.parametrize(
    ("level", "tier", "is_possible"),
    [
        (1.0, ISOLATED, True),
        (0.15, ISOLATED, True),
        (0.149, ISOLATED, False),
        (0.0, ISOLATED, False),
        (0.30, NETWORK, True),
        (0.299, NETWORK, False),
        (0.15, NETWORK, False),
    ],
)
def test_the_floors_are_those_of_the_source(level, tier, is_possible):
    assert isinstance(weigh(level, tier, SEED), Affordable if is_possible else Insufficient)


def test_the_costs_are_those_of_the_source():
    assert weigh(1, ISOLATED, SEED) == Affordable(ISOLATED, 0.05, 1)
    assert weigh(1, NETWORK, SEED) == Affordable(NETWORK, 0.15, 1)


def test_each_cost_and_each_floor_is_read_from_the_settings():
    dear = EnergySettings(
        recharge_per_minute=0.05, cost_isolated=0.4, cost_network=0.6, floor_isolated=0, floor_network=0
    )
    assert weigh(0.39, ISOLATED, dear) == Insufficient(ISOLATED, 0.4, 0, 0.39, pytest.approx(12))
    assert weigh(0.59, NETWORK, dear) == Insufficient(NETWORK, 0.6, 0, 0.59, pytest.approx(12), ISOLATED)
    careful = EnergySettings(recharge_per_minute=0.05, floor_isolated=0.8, floor_network=0.9)
    assert weigh(0.79, ISOLATED, careful) == Insufficient(ISOLATED, 0.05, 0.8, 0.79, pytest.approx(12))
    assert weigh(0.89, NETWORK, careful) == Insufficient(NETWORK, 0.15, 0.9, 0.89, pytest.approx(12), ISOLATED)


def test_what_rounding_takes_away_refuses_no_run():
    level = 1.0
    for _ in range(17):
        level -= 0.05
    assert 0 < 0.15 - level < 1e-9
    assert isinstance(weigh(level, ISOLATED, SEED), Affordable)


def test_a_cheaper_tier_is_named_only_when_it_is_possible_reaches_less_and_is_no_dearer():
    assert weigh(0.2, NETWORK, SEED).cheaper is ISOLATED
    assert weigh(0.1, NETWORK, SEED).cheaper is None
    assert weigh(0.1, ISOLATED, SEED).cheaper is None
    upside_down = EnergySettings(
        recharge_per_minute=0.05, cost_isolated=0.5, floor_isolated=0.5, cost_network=0.1, floor_network=0.8
    )
    assert weigh(0.7, NETWORK, upside_down).cheaper is None
    assert weigh(0.4, ISOLATED, upside_down.model_copy(update={"floor_network": 0.1})).cheaper is None


def test_recharge_goes_by_the_clock_and_its_rate_is_a_setting():
    assert recharged(0.2, 60, SEED) == pytest.approx(0.25)
    assert recharged(0.2, 60, EnergySettings(recharge_per_minute=0.3)) == pytest.approx(0.5)
    assert recharged(0.2, 1e9, EnergySettings(recharge_per_minute=0)) == 0.2
    assert recharged(0.2, -3600, SEED) == 0.2
    assert recharged(0.2, 1e300, EnergySettings(recharge_per_minute=1e300)) == 1


def test_six_isolated_runs_a_minute_go_on_for_ever_by_default():
    settings, level = EnergySettings(), 0.2
    for _ in range(600):
        verdict = weigh(level, ISOLATED, settings)
        assert isinstance(verdict, Affordable)
        level = recharged(level - verdict.cost, 10, settings)
    assert level == pytest.approx(0.2)


@given(shares, durations, settings)
def test_recharge_never_lowers_and_never_overfills(level, elapsed_s, settings):
    assert level <= recharged(level, elapsed_s, settings) <= 1
    assert recharged(level, -elapsed_s, settings) == level


@given(shares, durations, durations, settings)
def test_recharge_in_two_steps_is_recharge_in_one(level, first_s, second_s, settings):
    steps = recharged(recharged(level, first_s, settings), second_s, settings)
    assert steps == pytest.approx(recharged(level, first_s + second_s, settings), abs=1e-9)


@given(shares, tiers, settings)
def test_what_is_affordable_can_be_paid_and_what_is_not_lacks_something(level, tier, settings):
    verdict = weigh(level, tier, settings)
    cost = settings.cost_isolated if tier is ISOLATED else settings.cost_network
    floor = settings.floor_isolated if tier is ISOLATED else settings.floor_network
    assert verdict.cost == cost
    if isinstance(verdict, Affordable):
        assert level >= max(cost, floor) - 2e-9
    else:
        assert level < cost or level < floor
        if verdict.cheaper is not None:
            assert isinstance(weigh(level, verdict.cheaper, settings), Affordable)


@given(shares, tiers, settings)
def test_after_the_wait_it_suffices_and_not_much_earlier(level, tier, settings):
    verdict = weigh(level, tier, settings)
    assume(isinstance(verdict, Insufficient))
    if verdict.wait_s is None:
        assert settings.recharge_per_minute == 0
        return
    assert isinstance(weigh(recharged(level, verdict.wait_s, settings), tier, settings), Affordable)
    early_s = verdict.wait_s - max(0.01 * verdict.wait_s, 1e-6 / settings.recharge_per_minute)
    assert isinstance(weigh(recharged(level, early_s, settings), tier, settings), Insufficient)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "in about 1 second"),
        (7.1, "in about 8 seconds"),
        (36.1, "in about 40 seconds"),
        (90, "in about 90 seconds"),
        (91, "in about 2 minutes"),
        (179.99999999999997, "in about 3 minutes"),
        (180.00000000000003, "in about 3 minutes"),
        (181, "in about 4 minutes"),
        (3600, "in about 60 minutes"),
        (5401, "in about 2 hours"),
        (40 * 3600, "in about 2 days"),
        (366 * 86_400, "in more than a year"),
        (1e300, "in more than a year"),
    ],
)
def test_a_wait_is_said_as_a_person_would(seconds, text):
    assert in_about(seconds) == text


@given(st.floats(0.001, 365 * 86_400))
def test_nobody_is_told_to_come_back_too_early_nor_absurdly_late(seconds):
    count, unit = re.fullmatch(r"in about (\d+) (second|minute|hour|day)s?", in_about(seconds)).groups()
    promised_s = int(count) * {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}[unit]
    assert seconds - 0.001 <= promised_s <= max(seconds + 1, 1.8 * seconds)


@pytest.mark.parametrize(
    ("level", "tier", "settings", "text"),
    [
        (
            0.21,
            NETWORK,
            SEED,
            "The network tier needs 0.30 and the level is 0.21; it will suffice in about 2 minutes. The isolated tier is possible now.",
        ),
        (
            0.12,
            ISOLATED,
            SEED,
            "The isolated tier needs 0.15 and the level is 0.12; it will suffice in about 40 seconds.",
        ),
        (
            0.2999,
            NETWORK,
            EnergySettings(recharge_per_minute=0),
            "The network tier needs 0.30 and the level is 0.29; it does not recharge by itself, but the owner can top it up. The isolated tier is possible now.",
        ),
        (
            0.4995,
            ISOLATED,
            EnergySettings(recharge_per_minute=0.05, cost_isolated=0.5005),
            "The isolated tier needs 0.5005 and the level is 0.4995; it will suffice in about 2 seconds.",
        ),
    ],
)
def test_a_refusal_says_what_is_missing_and_when_it_will_suffice(level, tier, settings, text):
    lack = weigh(level, tier, settings)
    assert explain(lack) == str(lack) == f"Insufficient energy for code execution. {text}"


@given(shares, tiers, settings)
def test_a_refusal_never_reads_as_if_there_were_enough(level, tier, settings):
    lack = weigh(level, tier, settings)
    assume(isinstance(lack, Insufficient))
    needed, shown = re.search(r"needs ([\d.]+) and the level is ([\d.]+);", explain(lack)).groups()
    assert float(needed) > float(shown)


@given(shares, st.integers(0, 6))
def test_a_level_is_never_shown_higher_than_it_is(level, decimals):
    assert level - 10**-decimals - 1e-9 <= float(rounded_down(level, decimals)) <= level + 2e-9


@given(shares, settings)
def test_a_forecast_says_what_weighing_would(level, settings):
    seen = forecast(level, settings)
    for tier in seen.tiers:
        verdict = weigh(level, tier.tier, settings)
        assert (tier.possible_in_s == 0) == isinstance(verdict, Affordable)
        if isinstance(verdict, Insufficient):
            assert (tier.possible_in_s, tier.runs) == (verdict.wait_s, 0)
    if seen.full_in_s is not None:
        assert recharged(level, seen.full_in_s, settings) == pytest.approx(1)


@given(shares, tiers, settings)
def test_the_runs_of_a_forecast_are_those_that_can_be_made(level, tier, settings):
    predicted = next(seen.runs for seen in forecast(level, settings).tiers if seen.tier is tier)
    if predicted is None:
        assert weigh(level, tier, settings).cost <= 1e-9
        return
    assume(predicted < 1000)
    made, left = 0, level
    while made <= predicted and isinstance(verdict := weigh(left, tier, settings), Affordable):
        made, left = made + 1, max(0.0, left - verdict.cost)
    # Rounding may tip the last one, where the level falls exactly on the floor.
    assert made == predicted or abs(left - max(verdict.cost, getattr(settings, f"floor_{tier}"))) < 1e-8


def test_from_full_there_are_eighteen_isolated_runs_and_five_in_the_network():
    assert [tier.runs for tier in forecast(1.0, SEED).tiers] == [18, 5]
    assert forecast(0.4, SEED).full_in_s == pytest.approx(720)
    assert forecast(0.4, EnergySettings(recharge_per_minute=0)).full_in_s is None


def test_a_model_is_told_of_its_energy_only_when_it_runs_low():
    never = EnergySettings(recharge_per_minute=0)
    free = EnergySettings(recharge_per_minute=0.05, cost_isolated=0, floor_isolated=0)
    assert energy_note(0.62, SEED) is None
    assert (
        energy_note(0.449, SEED)
        == "Energy 0.44: isolated is possible, 6 runs in a row; network is possible, 1 run in a row."
    )
    assert energy_note(0.15, SEED) == (
        "Energy 0.15: isolated is possible, 1 run in a row; network is possible in about 3 minutes."
    )
    assert energy_note(0.1, never) == (
        "Energy 0.10: isolated is not possible until it is topped up; network is not possible until it is topped up."
    )
    assert energy_note(0.1, free) == "Energy 0.10: isolated is possible; network is possible in about 4 minutes."


def test_prices_are_what_a_model_needs_to_plan():
    assert prices(0.21234567, SEED) == {
        "level": 0.2123,
        "recharge_per_minute": 0.05,
        "full_in_s": 946,
        "tiers": {
            "isolated": {"cost": 0.05, "needs_level": 0.15, "runs_now": 2, "possible_in_s": 0},
            "network": {"cost": 0.15, "needs_level": 0.3, "runs_now": 0, "possible_in_s": 106},
        },
    }
    metered = EnergySettings.model_validate({"recharge_per_minute": 0, "metered": {"enabled": True}})
    assert prices(0.5, metered)["metered"] == {"at_least": 0.01, "at_most": 0.25}
    assert prices(0.5, metered)["full_in_s"] is None

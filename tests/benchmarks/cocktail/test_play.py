"""Short plays of every system on synthetic data."""

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cocktail import member_sets
from benchmarks.cocktail.figures import Figures, by_ask, ratios
from benchmarks.cocktail.load import MEAN_QPS, WARM_S, Part, load_series, part_of, spot_prices
from benchmarks.cocktail.member_sets import at_once, ours
from benchmarks.cocktail.models import ASKS, MODELS
from benchmarks.cocktail.play import Outcome, play
from benchmarks.cocktail.scene import TASK, Inputs, Scene
from benchmarks.cocktail.systems import COCKTAIL, INFAAS, SYSTEMS, systems
from benchmarks.cocktail.validation import Validation
from benchmarks.cocktail.votes.class_accuracy import synthetic_class_accuracy
from benchmarks.cocktail.votes.drawn_votes import draw_votes
from benchmarks.cocktail.workload import Workload, workload_of
from catalog.errors import ConfigError
from dispatch.ensemble.weights import ClassWeights
from forecast.registry import make
from forecast.series.series import DAY_S, LoadSeries

VOTES = draw_votes(synthetic_class_accuracy({m.name: m.accuracy for m in MODELS.values()}, 20, 0), 6000, seed=0)
WEIGHTS = ClassWeights.learned(VOTES.take(np.arange(2000)))
HOURS = LoadSeries.regular(np.full(2 * WARM_S, 80.0))
SETS = {ask.name: at_once(["InceptionV3", "ResNet50V2", "Xception"], 0.82) for ask in ASKS}


def workload(lost_per_h: float = 0.0, length_s: int = 60) -> Workload:
    part = part_of(HOURS, WARM_S, length_s)
    return workload_of(part, "strict", VOTES.take(np.arange(4000, 6000)), spot_prices(None, 0), lost_per_h, 0)


def played(name: str, of: Workload, headroom: float = 1.5) -> Outcome:
    constant = make("constant", TASK)
    constant.fit(HOURS)
    return play(systems(SETS)[name], of, WEIGHTS, constant, headroom)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_answers_nearly_all_in_time(name: str) -> None:
    outcome = played(name, workload())
    assert len(outcome.latency_s) == pytest.approx(60 * MEAN_QPS, rel=0.1)
    assert outcome.violated.mean() < 0.05
    assert 0.7 < outcome.right.mean() < 0.95
    assert outcome.dollars > 0


def test_equal_seeds_play_alike() -> None:
    one, same = (played(COCKTAIL, workload(lost_per_h=20.0)) for _ in range(2))
    assert np.array_equal(one.latency_s, same.latency_s)
    assert one.leases == same.leases


def test_an_ensemble_goes_on_without_members_whose_machines_are_taken_away() -> None:
    outcome = played(COCKTAIL, workload(lost_per_h=40.0, length_s=180))
    assert outcome.lost > 0
    assert outcome.violated.mean() < 0.1
    assert set(np.unique(outcome.members[~outcome.violated])) >= {2, 3}


def test_figures_are_of_the_run_and_ratios_of_seeds() -> None:
    ours_run, single = (played(name, workload()) for name in (COCKTAIL, INFAAS))
    one, two = Figures.of(ours_run), Figures.of(single)
    assert one.dollars_per_h == pytest.approx(ours_run.dollars * 60)
    assert one.latency_p25_s <= one.latency_p50_s <= one.latency_p75_s
    dearer = replace(one, dollars_per_h=3 * one.dollars_per_h)
    assert ratios([one, one], [dearer, two])["times_as_dear"] == pytest.approx(
        (3 + two.dollars_per_h / one.dollars_per_h) / 2
    )
    assert set(by_ask([ours_run])) == {"const1", "const2", "const3"}


def test_our_sets_reach_their_targets_where_they_can() -> None:
    validation = Validation(VOTES.take(np.arange(2000, 4000)), WEIGHTS)
    sets = ours("relaxed", validation, workload().pools)
    for ask in ASKS:
        own = sets[ask.name]
        assert own.accuracy == validation.accuracy(*own.members)
        assert own.latency_s <= ask.latency_s + 0.005
        assert own.accuracy >= ask.accuracy or ask.name == "const1"


def test_where_no_spot_machine_is_within_its_bid_sets_are_chosen_by_what_machines_cost_on_demand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(member_sets, "MOST_MEMBERS", 2)
    validation = Validation(VOTES.take(np.arange(2000, 4000)), WEIGHTS)
    of = workload()
    on_demand = [pool for pool in of.pools if not pool.preemptible]
    dear = [replace(pool, bid_per_h=0.0) for pool in of.pools if pool.preemptible]
    sets = ours("relaxed", validation, [*dear, *on_demand])
    assert set(sets) == {ask.name for ask in ASKS}
    as_cheap = [replace(pool, bid_per_h=inf) for pool in on_demand]
    assert sets == ours("relaxed", validation, as_cheap)


def test_a_vote_is_decided_between_the_fastest_latency_and_twice_the_slowest() -> None:
    validation = Validation(VOTES.take(np.arange(2000, 4000)), WEIGHTS)
    alone = validation.decided_s("Xception")
    assert alone == pytest.approx(1.5 * 0.1192, rel=0.02)
    assert 0.0435 < validation.decided_s("MobileNetV1", "MobileNetV2", "Xception") < alone


def test_an_hour_is_scaled_and_arrivals_follow_it() -> None:
    series = load_series(None, 1)
    part: Part = part_of(series, 86_400, 600)
    hour = part_of(series, 86_400, 3600)
    assert hour.rates_qps.mean() == pytest.approx(MEAN_QPS, rel=0.01)
    arrivals_s = part.arrivals_s(np.random.default_rng(0))
    assert np.all(np.diff(arrivals_s) >= 0)
    assert len(arrivals_s) == pytest.approx(part.rates_qps.sum(), rel=0.05)
    with pytest.raises(ConfigError, match="has no load"):
        part_of(series, 0, 600)


def test_prices_are_read_by_size(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("time,spot1,spot2,spot3,spot4\n1,0.1,0.2,0.3,0.4\n2,0.2,0.3,0.4,0.5\n")
    prices = spot_prices(path, 0)
    assert [each.price_per_h(3600.0) for each in prices] == [0.2, 0.3, 0.4, 0.5]
    path.write_bytes(b"\xef\xbb\xbfspot1,spot2,spot3,spot4\r\n0.1,0.2,0.3,0.4\r\n")
    assert [each.price_per_h(0.0) for each in spot_prices(path, 0)] == [0.1, 0.2, 0.3, 0.4], "as Windows writes it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,spot1\n1,0.1\n", "'spot2'"),
        ("time,spot1,spot2,spot3,spot4\n1,0.1\n", "could not convert"),
        ("time,spot1,spot2,spot3,spot4\n1,0.1,0.2,0.3,dear\n", "could not convert"),
        ("time,spot1,spot2,spot3,spot4\n1,0.1,0.2,nan,0.4\n", "not finite"),
        ("time,spot1,spot2,spot3,spot4\n", "0 prices"),
        ("", "0 prices"),
    ],
)
def test_prices_that_cannot_be_used_are_refused_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"cannot read prices .*prices\.csv: .*{message}.*; give a CSV with time"):
        spot_prices(path, 0)


def test_hours_without_load_are_refused() -> None:
    quiet = LoadSeries.regular(np.zeros(3 * WARM_S))
    with pytest.raises(ConfigError, match="has no load from 0 s on for two hours"):
        part_of(quiet, WARM_S, 60)
    gap = LoadSeries(np.append(HOURS.times_s, 5 * WARM_S), np.append(HOURS.loads_qps, 1.0))
    with pytest.raises(ConfigError, match="has no load from 7200 s on for two hours"):
        part_of(gap, 3 * WARM_S, 60)


def test_a_part_without_load_is_refused_with_its_minutes() -> None:
    loads = np.full(2 * WARM_S, 80.0)
    loads[WARM_S : WARM_S + 1200] = 0.0
    with pytest.raises(ConfigError, match=r"next to no load from 01:00 to 01:20, 3600 s of its time on: 0 queries"):
        part_of(LoadSeries.regular(loads), WARM_S, 1200)
    assert part_of(LoadSeries.regular(loads), WARM_S, 1800).rates_qps.sum() > 0


def test_a_series_with_nothing_to_learn_from_is_refused() -> None:
    scene = Scene(Inputs())
    scene.__dict__["series"] = LoadSeries.regular(np.full(2 * DAY_S, 80.0))
    with pytest.raises(ConfigError, match="no day before the last two whole ones to learn from"):
        scene.forecaster(part_of(scene.series, WARM_S, 60))

"""Which hours are played, and with which queries."""

import numpy as np
import pytest

from benchmarks.forecast_value.parts import LEAD_S, LENGTH_S, WARM_S, Kind, choose
from catalog.errors import BadSeries
from forecast.series.series import LoadSeries
from forecast_value_scene import BURST_AT_S, BURST_QPS, BURST_S, DAY_S, HOUR_S, bursts_every_other_hour, some_parts

SERIES = bursts_every_other_hour(2)
SOME: dict[Kind, int] = {"bursty": 3, "diurnal": 2}


def test_hours_with_bursts_and_hours_without_are_told_apart() -> None:
    choice = choose(SERIES, DAY_S, 2 * DAY_S, SOME, seed=0)
    assert choice.hours == {"bursty": 12, "diurnal": 12}
    assert [(part.kind, part.start_s // HOUR_S % 2, part.bursts) for part in choice.parts] == [
        *[("bursty", 1, 1)] * 3,
        *[("diurnal", 0, 0)] * 2,
    ]


def test_each_part_stands_for_its_share_of_the_hours() -> None:
    choice = choose(SERIES, DAY_S, 2 * DAY_S, SOME, seed=0)
    assert (choice.weight("bursty"), choice.weight("diurnal")) == (4.0, 6.0)


def test_hours_are_drawn_from_all_of_the_span_and_alike_with_the_same_seed() -> None:
    drawn = {seed: [p.start_s for p in choose(SERIES, 0, 2 * DAY_S, SOME, seed).parts] for seed in (1, 2)}
    assert drawn[1] == [part.start_s for part in choose(SERIES, 0, 2 * DAY_S, SOME, 1).parts]
    assert drawn[1] != drawn[2]
    for starts_s in drawn.values():
        assert [start_s // (16 * HOUR_S) for start_s in starts_s[:3]] == [0, 1, 2]


def test_hours_that_were_not_wholly_observed_are_left_out() -> None:
    gap = (SERIES.times_s >= DAY_S + 5000) & (SERIES.times_s < DAY_S + 5500)
    series = LoadSeries(SERIES.times_s[~gap], SERIES.loads_qps[~gap])
    choice = choose(series, DAY_S, 2 * DAY_S, SOME, seed=0)
    assert choice.hours == {"bursty": 11, "diurnal": 12}


def test_a_part_knows_what_came_before_it_and_two_close_surges_are_one_burst() -> None:
    loads = SERIES.loads_qps.copy()
    loads[HOUR_S + BURST_AT_S + 100 : HOUR_S + BURST_AT_S + 300] = 4
    part = some_parts(LoadSeries.regular(loads), HOUR_S, 2 * HOUR_S, diurnal=0)[0]
    assert part.begin_s == HOUR_S - LEAD_S
    assert len(part.counts) == WARM_S + LEAD_S + LENGTH_S
    np.testing.assert_array_equal(part.played, loads[HOUR_S - LEAD_S : 2 * HOUR_S])
    assert part.bursts == 1


def test_arrivals_have_exactly_the_recorded_count_of_each_second() -> None:
    part = some_parts(SERIES, HOUR_S, 2 * HOUR_S, diurnal=0)[0]
    arrivals_s = part.arrivals_s(seed=5)
    assert np.all(np.diff(arrivals_s) >= 0)
    np.testing.assert_array_equal(np.bincount(arrivals_s.astype(int), minlength=len(part.played)), part.played)
    np.testing.assert_array_equal(arrivals_s, part.arrivals_s(seed=5))
    assert np.any(arrivals_s != part.arrivals_s(seed=6))
    assert np.sum(part.played == BURST_QPS) == BURST_S


def test_a_load_of_less_than_a_query_a_second_is_played_in_full() -> None:
    (part, *_) = choose(LoadSeries.regular(np.full(DAY_S, 0.3)), HOUR_S, DAY_S, SOME, seed=0).parts
    assert part.played.sum() == pytest.approx(0.3 * len(part.played), abs=1.0)


def test_hours_without_a_query_are_not_played() -> None:
    loads = np.full(DAY_S, 5.0)
    loads[: 12 * HOUR_S] = 0.0
    choice = choose(LoadSeries.regular(loads), HOUR_S, DAY_S, {"bursty": 1, "diurnal": 20}, seed=0)
    assert choice.parts
    assert all(part.played.any() for part in choice.parts)
    assert min(part.start_s for part in choice.parts) >= 12 * HOUR_S - LENGTH_S


def test_a_kind_of_which_there_is_no_hour_is_left_out() -> None:
    choice = choose(LoadSeries.regular(np.full(DAY_S, 5.0)), HOUR_S, DAY_S, SOME, seed=0)
    assert choice.hours == {"bursty": 0, "diurnal": 23}
    assert [part.kind for part in choice.parts] == ["diurnal", "diurnal"]
    assert choice.weight("bursty") == 0.0


def test_a_span_without_a_whole_hour_is_refused() -> None:
    with pytest.raises(BadSeries, match="no hour from 86400 s to 90000 s of the series was wholly observed"):
        choose(bursts_every_other_hour(1), DAY_S, DAY_S + HOUR_S, SOME, seed=0)

"""Excerpts are found by what they are named after, on any series."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.ipa.excerpts import (
    KINDS,
    LEAD_S,
    LENGTH_S,
    LOW_QPS,
    MEAN_S,
    PEAK_QPS,
    WARM_S,
    choose,
    scale_of,
    spans_of,
)
from catalog.errors import BadSeries
from forecast.series.series import LoadSeries

LOW_AT, HIGH_AT, BURST_AT, WAVES_AT, END = 0, 2400, 4800, 7200, 9600


def four_kinds() -> LoadSeries:
    """Low, high, a burst in the midst of little, and waves, 40 minutes of each."""
    loads = np.full(END, 20.0)
    loads[HIGH_AT:BURST_AT] = 100.0
    loads[BURST_AT + 1200 : BURST_AT + 1320] = 160.0
    loads[WAVES_AT:] = 50.0 + 30.0 * np.sin(np.arange(END - WAVES_AT) / 20.0)
    return LoadSeries.regular(loads)


def test_each_excerpt_is_what_it_is_called_and_none_overlaps_another() -> None:
    found = choose(four_kinds(), 0.25, 0, END)
    assert tuple(found) == KINDS
    burst = found["bursty"]
    assert burst.start_s <= BURST_AT + 1200 < BURST_AT + 1320 <= burst.start_s + LENGTH_S
    assert burst.surge == pytest.approx(8.0, rel=0.01)
    assert found["steady_low"].mean_qps == pytest.approx(5.0, rel=0.01)
    assert found["steady_high"].mean_qps == pytest.approx(25.0, rel=0.01)
    assert found["steady_high"].variability < 0.05
    assert found["fluctuating"].start_s >= WAVES_AT - 60
    starts_s = sorted(each.start_s for each in found.values())
    assert all(b - a >= LENGTH_S for a, b in pairwise(starts_s))


def test_queries_are_those_of_the_series_scaled_and_come_within_their_seconds() -> None:
    excerpt = choose(four_kinds(), 0.25, 0, END)["fluctuating"]
    loads = 0.25 * four_kinds().loads_qps[excerpt.start_s - LEAD_S - WARM_S : excerpt.start_s + LENGTH_S]
    assert np.abs(np.cumsum(excerpt.counts) - np.cumsum(loads)).max() <= 0.5 + 1e-6
    arrivals_s = excerpt.arrivals_s(seed=1)
    assert np.bincount(arrivals_s.astype(int), minlength=LEAD_S + LENGTH_S).tolist() == excerpt.played.tolist()
    assert (np.diff(arrivals_s) >= 0).all()
    assert (arrivals_s == excerpt.arrivals_s(seed=1)).all()
    assert (arrivals_s != excerpt.arrivals_s(seed=2)).any()


def test_a_constant_load_makes_four_excerpts_that_are_alike() -> None:
    found = choose(LoadSeries.regular(np.full(6000, 7.0)), 1.0, 0, 6000)
    assert len({each.start_s for each in found.values()}) == 4
    assert {each.mean_qps for each in found.values()} == {7.0}
    assert {each.surge for each in found.values()} == {1.0}


def test_too_little_load_and_too_short_a_series_are_refused_in_words() -> None:
    with pytest.raises(BadSeries, match=r"only 2 excerpts of 600 s fit .* some 25 h or longer"):
        choose(LoadSeries.regular(np.full(1500, 7.0)), 1.0, 0, 1500)
    with pytest.raises(BadSeries, match="only 0 excerpts"):
        choose(LoadSeries.regular(np.zeros(6000)), 1.0, 0, 6000)
    silent = LoadSeries.regular(np.zeros(18 * 3600))
    with pytest.raises(BadSeries, match="no 10 s in one piece with any load"):
        scale_of(silent, spans_of(silent))


def test_seconds_that_were_not_observed_are_in_no_excerpt() -> None:
    whole = four_kinds()
    there = (whole.times_s < BURST_AT + 1250) | (whole.times_s >= BURST_AT + 1300)
    gap = LoadSeries(whole.times_s[there], whole.loads_qps[there])
    assert choose(gap, 0.25, 0, END)["bursty"].surge < 5


def test_the_load_is_scaled_as_high_as_the_range_allows() -> None:
    rng = np.random.default_rng(0)
    loads = np.concatenate([np.full(14 * 3600, 10.0), np.full(2 * 3600, 20.0), np.full(2 * 3600, 100.0)])
    steady = LoadSeries.regular(loads + rng.random(len(loads)))
    scale = scale_of(steady, spans_of(steady))
    assert 20.5 * scale == pytest.approx(LOW_QPS, rel=0.02)
    loads[-100:] = 1000.0
    bursty = LoadSeries.regular(loads)
    assert 1000.0 * scale_of(bursty, spans_of(bursty)) == pytest.approx(PEAK_QPS)


def test_what_is_learned_tuned_and_reported_follow_each_other() -> None:
    spans = spans_of(LoadSeries.regular(np.ones(18 * 100), start_s=50))
    assert (spans.start_s, spans.tuned_from_s, spans.reported_from_s, spans.end_s) == (50, 1450, 1550, 1850)
    assert LENGTH_S % MEAN_S == 0

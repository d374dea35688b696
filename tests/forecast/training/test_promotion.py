"""A new model against what serves, on load that it has not seen."""

import json

import numpy as np
import pytest

from catalog.errors import BadSeries
from forecast.forecaster import Forecaster
from forecast.registry import make
from forecast.series.series import LoadSeries
from forecast.series.windows import origins, targets
from forecast.training.promotion import PEAK_S, judge, recent_peak
from forecast.training.scores import score
from forecast.training.task import ForecastTask

TASK = ForecastTask(context_s=60, window_s=20)
HELD_OUT_S = 9000


def waves(seconds: int = 12_000, period_s: int = 300, seed: int = 3) -> LoadSeries:
    turns = 2 * np.pi * np.arange(seconds) / period_s
    return LoadSeries.regular(np.random.default_rng(seed).poisson(200 + 150 * np.sin(turns)).astype(float))


def fitted(name: str, series: LoadSeries, task: ForecastTask = TASK) -> Forecaster:
    made = make(name, task)
    made.fit(series)
    return made


def test_a_model_that_knows_the_waves_takes_the_place_of_recent_peaks() -> None:
    series = waves()
    verdict = judge(fitted("linear", series.between(0, HELD_OUT_S)), None, series, HELD_OUT_S)
    assert verdict.promoted
    assert verdict.incumbent is None
    assert verdict.candidate.pinball_qps < verdict.simple.pinball_qps
    assert "the new model was better" in verdict.words
    assert (verdict.from_s, verdict.until_s) == (HELD_OUT_S, 12_000)


def test_a_model_that_is_worse_than_recent_peaks_does_not_serve() -> None:
    series = waves()
    verdict = judge(fitted("constant", series.between(0, HELD_OUT_S)), None, series, HELD_OUT_S)
    assert not verdict.promoted
    assert "no better" in verdict.words


def test_being_as_good_as_the_model_that_serves_is_not_enough() -> None:
    series = waves()
    learned = series.between(0, HELD_OUT_S)
    verdict = judge(fitted("linear", learned), fitted("linear", learned), series, HELD_OUT_S)
    assert verdict.candidate == verdict.incumbent
    assert not verdict.promoted


def test_a_model_that_learned_of_a_change_replaces_one_that_did_not() -> None:
    before, after = waves(6000, 300), waves(12_000, 120)
    series = LoadSeries.regular(np.concatenate([before.loads_qps, after.loads_qps]))
    old, new = fitted("linear", before), fitted("linear", series.between(6000, 15_000))
    verdict = judge(new, old, series, 15_000)
    assert verdict.promoted
    assert not judge(old, new, series, 15_000).promoted
    assert "of the model that serves" in verdict.words


def test_all_are_scored_at_the_same_origins_of_the_held_out_window() -> None:
    series = waves()
    far = fitted("linear", series.between(0, HELD_OUT_S), ForecastTask(context_s=1200, window_s=20))
    near = fitted("linear", series.between(0, HELD_OUT_S))
    verdict = judge(near, far, series, HELD_OUT_S)
    assert verdict.incumbent is not None
    assert verdict.candidate.origins == verdict.simple.origins == verdict.incumbent.origins
    assert verdict.candidate.origins == pytest.approx((12_000 - HELD_OUT_S) / 10, abs=3)


def test_recent_peaks_are_those_before_the_origin_whatever_comes_after_it() -> None:
    series = waves()
    other = LoadSeries.regular(np.concatenate([series.loads_qps[:HELD_OUT_S], 2 * series.loads_qps[HELD_OUT_S:]]))
    at = np.array([HELD_OUT_S])
    one, two = (recent_peak(each.slice(0, HELD_OUT_S), each, TASK, at) for each in (series, other))
    assert np.array_equal(one.quantiles, two.quantiles)
    assert one.point == series.loads_qps[HELD_OUT_S - PEAK_S : HELD_OUT_S].max()


def test_recent_peaks_lie_as_far_below_the_truth_as_they_did() -> None:
    series = waves()
    learned = series.between(0, HELD_OUT_S)
    at = origins(series, TASK, TASK.context_s, TASK.block_s)
    at = at[at >= HELD_OUT_S]
    forecast = recent_peak(learned, series, TASK, at)
    assert forecast.point.tolist() == [series.loads_qps[origin - PEAK_S : origin].max() for origin in at]
    assert (np.diff(forecast.quantiles, axis=1) >= 0).all()
    assert score(forecast, targets(series, TASK, at)).coverage_90_pct == pytest.approx(90, abs=8)


def test_the_scores_are_json() -> None:
    series = waves()
    verdict = judge(fitted("linear", series.between(0, HELD_OUT_S)), None, series, HELD_OUT_S)
    record = json.loads(json.dumps(verdict.to_record(), allow_nan=False))
    assert record.keys() == {"candidate", "simple"}
    assert record["simple"]["pinball_qps"] == verdict.simple.pinball_qps


def test_a_window_without_origins_is_refused() -> None:
    series = waves()
    candidate = fitted("linear", series.between(0, HELD_OUT_S))
    with pytest.raises(BadSeries, match="give a longer window"):
        judge(candidate, None, series, 11_990)

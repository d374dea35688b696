import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import mean_pinball_loss, root_mean_squared_error

from catalog.errors import BadSeries
from forecast.forecaster import LEVELS, Forecast
from forecast.training.scores import score


def test_scores_are_those_of_the_literature() -> None:
    draw = np.random.default_rng(3)
    truth, point = draw.uniform(1, 100, 500), draw.uniform(1, 100, 500)
    quantiles = np.sort(draw.uniform(1, 100, (500, len(LEVELS))), axis=1)
    scores = score(Forecast(quantiles, point), truth)
    assert scores.rmse_qps == pytest.approx(root_mean_squared_error(truth, point))
    losses = [mean_pinball_loss(truth, quantiles[:, k], alpha=level) for k, level in enumerate(LEVELS)]
    assert scores.pinball_qps == pytest.approx(np.mean(losses))
    assert scores.smape_pct == pytest.approx(np.mean(200 * abs(truth - point) / (truth + point)))


def test_the_right_distribution_covers_nine_in_ten() -> None:
    draw = np.random.default_rng(4)
    truth = draw.normal(100, 10, 20_000)
    quantiles = np.broadcast_to(norm.ppf(LEVELS, 100, 10), (len(truth), len(LEVELS)))
    scores = score(Forecast(quantiles, quantiles[:, 5]), truth)
    assert scores.coverage_90_pct == pytest.approx(90, abs=1)
    assert scores.width_90_qps == pytest.approx(2 * 1.645 * 10, rel=0.01)


def test_nothing_for_nothing_is_right() -> None:
    zeros = np.zeros(3)
    assert score(Forecast(np.zeros((3, len(LEVELS))), zeros), zeros).smape_pct == 0


def test_levels_between_those_given_are_interpolated_and_those_beyond_are_the_last() -> None:
    forecast = Forecast(np.arange(len(LEVELS), dtype=float)[None, :], np.zeros(1))
    assert forecast.at(0.5)[0] == 5
    assert forecast.at(0.375)[0] == pytest.approx(4.5)
    assert forecast.at(0.999)[0] == len(LEVELS) - 1
    assert forecast.at(0.0)[0] == 0


def test_no_origin_is_no_score() -> None:
    with pytest.raises(BadSeries, match="no origin to score"):
        score(Forecast(np.zeros((0, len(LEVELS))), np.zeros(0)), np.zeros(0))

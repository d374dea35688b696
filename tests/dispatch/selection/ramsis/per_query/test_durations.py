"""The durations that stand for how long launches take."""

import numpy as np
import pytest
from scipy.stats import lognorm

from dispatch.selection.ramsis.per_query.durations import MOST_NODES, Durations, lognormal_scale

MEAN_S = np.array([0.01, 0.02, 0.05])
TAIL_S = np.array([0.012, 0.03, 0.05])


def test_the_tail_is_exceeded_as_often_as_was_said() -> None:
    scale = lognormal_scale(MEAN_S, TAIL_S, 0.01)
    for mean_s, tail_s, sigma in zip(MEAN_S[:2], TAIL_S[:2], scale[:2], strict=True):
        assert lognorm.sf(tail_s, sigma, scale=mean_s * np.exp(-(sigma**2) / 2)) == pytest.approx(0.01)
    assert scale[2] == 0.0, "the tail is the mean"
    assert np.isfinite(lognormal_scale(np.array([1.0]), np.array([1e6]), 0.05)).all()


def test_mean_and_variance_of_run_times_are_kept() -> None:
    durations = Durations.of(MEAN_S, TAIL_S, 0.01)
    mean_s = durations.interpolate(durations.nodes_s[:, None])[:, 0]
    np.testing.assert_allclose(mean_s, MEAN_S)
    variance = durations.interpolate(durations.nodes_s[:, None] ** 2)[:, 0] - mean_s**2
    sigma = lognormal_scale(MEAN_S, TAIL_S, 0.01)
    np.testing.assert_allclose(variance, MEAN_S**2 * np.expm1(sigma**2), rtol=0.05)


@pytest.mark.parametrize(("tail_s", "late_share"), [(None, 0.01), (TAIL_S, 0.0)])
def test_where_nothing_is_said_of_the_tail_every_run_takes_its_mean(
    tail_s: np.ndarray | None, late_share: float
) -> None:
    assert Durations.of(MEAN_S, tail_s, late_share).nodes_s.tolist() == MEAN_S.tolist()


def test_many_durations_are_interpolated_between_few_nodes() -> None:
    mean_s = np.linspace(0.001, 0.1, 1000) ** 1.5
    durations = Durations.of(mean_s, 1.2 * mean_s, 0.05)
    assert len(durations.nodes_s) <= MOST_NODES
    np.testing.assert_allclose(durations.interpolate(durations.nodes_s[:, None])[:, 0], mean_s)

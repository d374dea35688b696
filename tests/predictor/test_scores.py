"""Scores against what is known of the errors that were drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.measurements import Measurements
from predictor.predictor import Prediction
from predictor.scores import mean_absolute_error, mean_predictor_error, repeat_noise
from slowdown_scene import run


@dataclass(frozen=True)
class Always:
    """Predicts one slowdown for everything."""

    slowdown: float

    def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        return np.full(sum(each.degree for each in configurations), self.slowdown)

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        return Prediction(self.slowdowns(configurations), 0 * self.slowdowns(configurations))


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_noise_is_the_mean_absolute_error_of_one_measurement(repeats: int) -> None:
    """Of a normal error that is sigma * sqrt(2 / pi), however many repeats tell."""
    rng, sigma = np.random.default_rng(0), 0.03
    runs = [
        run("m", (f"a{number}", "b", "b"), truth + rng.normal(0, sigma, 3))
        for number, truth in enumerate(rng.uniform(1, 3, 1500))
        for _ in range(repeats)
    ]
    assert repeat_noise(Measurements(tuple(runs))) == pytest.approx(sigma * sqrt(2 / pi), rel=0.03)


def test_noise_is_unknown_without_repeats() -> None:
    assert repeat_noise(Measurements((run("m", "ab", 1.0), run("m", "ac", 1.0), run("n", "ab", 1.0)))) is None


def test_what_was_measured_once_tells_nothing_of_the_noise() -> None:
    repeated = (run("m", "ab", (1.0, 2.0)), run("m", "ab", (1.2, 2.0)))
    alone = repeat_noise(Measurements(repeated))
    assert alone == pytest.approx((0.1 + 0.1) / 4 * sqrt(2))
    assert repeat_noise(Measurements((*repeated, run("m", "cd", 9.0)))) == alone


def test_errors_are_over_all_examples_and_the_mean_is_of_the_training_examples() -> None:
    training = examples_of(Measurements((run("m", "ab", (1.0, 1.5)), run("m", "abc", (2.0, 2.0, 3.5)))))
    truth = examples_of(Measurements((run("m", "ac", (1.0, 4.0)),)))
    assert mean_absolute_error(Always(1.5), truth) == pytest.approx((0.5 + 2.5) / 2)
    assert mean_predictor_error(training, truth) == pytest.approx((1.0 + 2.0) / 2)

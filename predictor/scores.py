"""How good predictions are, and how good they could be."""

from math import sqrt

import numpy as np

from predictor.examples import Examples
from predictor.measurements import Measurements
from predictor.predictor import SlowdownPredictor


def mean_absolute_error(predictor: SlowdownPredictor, truth: Examples) -> float:
    """Of slowdowns, over all examples."""
    return float(np.abs(predictor.slowdowns(truth.configurations) - truth.slowdown).mean())


def mean_predictor_error(training: Examples, truth: Examples) -> float:
    """The mean absolute error of who predicts the mean slowdown of the training examples for everything."""
    return float(np.abs(truth.slowdown - training.slowdown.mean()).mean())


def repeat_noise(measurements: Measurements) -> float | None:
    """The mean absolute error that one measurement has by itself, estimated from repeats; None without any.

    The mean absolute deviation of k repeats from their mean is that of one measurement from the truth times
    sqrt((k - 1) / k), for normal errors.
    """
    away = [
        np.abs(slowdowns - slowdowns.mean(axis=0)).ravel() * sqrt(len(slowdowns) / (len(slowdowns) - 1))
        for runs in measurements.repeats.values()
        if len(runs) > 1
        for slowdowns in [np.array([run.slowdown for run in runs])]
    ]
    return float(np.concatenate(away).mean()) if away else None

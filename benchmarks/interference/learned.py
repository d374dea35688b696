"""What predictors learn from where there are many measurements."""

from predictor.examples import Examples, examples_of
from predictor.measurements import Measurements
from predictor.splits import sample

MOST_LEARNED = 6000
"""Examples; of more a sample is learned from, since boosting takes a minute for so many, and is fitted many times."""


def sampled(measurements: Measurements, seed: int) -> Measurements:
    """All of them, or those of a sample of configurations with no more than `MOST_LEARNED` examples."""
    return measurements.only(sample(list(measurements.repeats), MOST_LEARNED, seed))


def learned_examples(measurements: Measurements, seed: int) -> Examples:
    """The examples of `sampled`."""
    return examples_of(sampled(measurements, seed))

"""How long violations and accuracy take to recover, in windows of a second."""

from collections.abc import Sequence

from benchmarks.adaptation.answers import Answers

WINDOW_S = 1.0

MOST_VIOLATED_PCT = 5.0
"""A window with so many violations or more is not served as it should be."""

ACCURACY_BAND_POINTS = 0.2
"""So far below its mean before, accuracy counts as back."""


def violations_recovered_s(answers: Answers, start_s: float, end_s: float) -> float | None:
    """From ``start_s`` to the first instant from which no window until ``end_s`` is in violation.

    0 where none ever was, None where the last one is.
    """
    windows = answers.windows(start_s, end_s, WINDOW_S)
    return _after_the_last([(each.violation_pct or 0.0) >= MOST_VIOLATED_PCT for each in windows])


def accuracy_recovered_s(answers: Answers, start_s: float, end_s: float, before_pct: float) -> float | None:
    """From ``start_s`` to the first window from which on the expected accuracy stays as it was before.

    A window without an answer is not as before. 0 where all are, None where the last one is not.
    """
    least_pct = before_pct - ACCURACY_BAND_POINTS
    seen_pct = [each.accuracy_pct for each in answers.windows(start_s, end_s, WINDOW_S)]
    return _after_the_last([pct is None or pct < least_pct for pct in seen_pct])


def _after_the_last(bad: Sequence[bool]) -> float | None:
    """When the last bad window is over."""
    count = max((number for number, each in enumerate(bad, start=1) if each), default=0)
    return None if bad and count == len(bad) else count * WINDOW_S

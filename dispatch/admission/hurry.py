"""Which variant runs while capacity is short."""

from dispatch.admission.pace import Pace
from dispatch.selection.policy import Choice, QueueView


def hurried(pace: Pace, choice: Choice, view: QueueView, weight: float, needed_rate: float) -> Choice:
    """The most accurate variant that bears ``needed_rate`` rows per second and is in time, none more accurate than the
    policy's own ``choice``; where there is none, the fastest.

    It runs in its best batch, where a row counts for ``weight`` rows. The policy's choice stays where that is no
    slower, or the fastest variant is not at hand.
    """
    usable = {candidate.variant: candidate for candidate in view.candidates}
    for stride in pace.strides[_place(pace, choice.variant) :]:
        candidate = usable.get(stride.candidate.variant)
        if candidate is None or stride.rate < needed_rate:
            continue
        rows = candidate.batch_rows(_rows(stride.rows, weight, view))
        if candidate.latency_s[rows] <= view.slack_s:
            return _unless_slower(choice, candidate.variant, rows)
    fastest = usable.get(pace.variant)
    if fastest is None:
        return choice
    rows = fastest.batch_rows(_rows(pace.batch_rows, weight, view))
    return _unless_slower(choice, pace.variant, rows)


def _place(pace: Pace, variant: str) -> int:
    """Where a variant is among the strides, most accurate first; before all of them where it has none."""
    return next((n for n, stride in enumerate(pace.strides) if stride.candidate.variant == variant), 0)


def _rows(rows: int, weight: float, view: QueueView) -> int:
    """Of what waits, the first query whole."""
    return min(view.rows, max(1, round(rows / weight), view.first_rows))


def _unless_slower(choice: Choice, variant: str, rows: int) -> Choice:
    """The policy's choice, where it is a batch of the same variant that is no larger."""
    return choice if choice.variant == variant and choice.rows <= rows else Choice(variant, rows, choice.state)

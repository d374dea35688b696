"""What batching policies have in common: the variant that they batch for, and when a batch can still be in time."""

from dispatch.selection.policy import Candidate, QueueView

ROUNDING_S = 1e-8
"""A batch must be done this much before its first deadline: more than rounding adds on any host's clock."""


def settled(view: QueueView) -> Candidate:
    """The variant to batch for: usually the only one that the worker holds.

    Of several, the most accurate that serves one row in half of the time that the most urgent query was given, as a
    planner would have it; the fastest where there is none.
    """
    candidates = view.candidates
    if len(candidates) == 1:
        return candidates[0]
    half_s = (view.earliest_deadline_s - view.first_arrival_s) / 2
    in_time = (candidate for candidate in candidates if candidate.latency_s[1] <= half_s + ROUNDING_S)
    return next(in_time, None) or min(candidates, key=lambda candidate: candidate.latency_s[1])

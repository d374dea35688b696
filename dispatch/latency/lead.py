"""How far ahead of a result the next batch is launched."""

LEAD = 0.9
"""The next batch follows this share of the way before the result of the one before should be there, so that it reaches
the worker just after that is idle ..."""

VARYING = 0.25
"""... but not before this share of what lies between the mean and the 95th percentile of the run has passed, since
runs may take longer than expected. Where that is longer than the way, the result is waited for."""

AT_ONCE = 2
"""So many batches are under way to a worker at most (`dispatch.queues.worker_state`): where the run is less than 0.8 of
the way, the next one follows when the first of them is back."""

SPARE, NO_SPARE = 0.90, 0.94
"""Where more than the former share of a router's cores is at work, batches follow less far ahead, and from the latter
on results are waited for: a worker that waits then leaves its core to who needs it, and fewer, larger batches cost
router and workers less of it."""


ALL_AHEAD = 0.80
"""Up to this share at work, a batch behind one that was launched ahead is launched ahead as well. Beyond it waits for
the result of that one, so that batches are fewer and larger."""


def lead_at(busy_share: float) -> float:
    """The share of the way where so much of the router's cores is at work, 0 to 1."""
    return LEAD * min(max((NO_SPARE - busy_share) / (NO_SPARE - SPARE), 0.0), 1.0)


def gap_s(path_s: float, run_s: float, run_tail: float, lead: float) -> float:
    """How long after a batch that runs for ``run_s`` on average, and nearly always up to ``run_tail`` times that, the
    next may reach its worker: the whole way where its result is waited for."""
    return min(path_s, max((1.0 - lead) * path_s, VARYING * run_s * (run_tail - 1.0)))


def cycle_s(path_s: float, run_s: float, gap_s: float) -> float:
    """How long after a batch the next is launched on a worker that is never out of work, on average, where it may reach
    the worker ``gap_s`` after the run."""
    return max(run_s + gap_s, (run_s + path_s) / AT_ONCE)

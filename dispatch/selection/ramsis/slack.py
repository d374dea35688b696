"""The slack times that a process tells apart (RAMSIS, section 4.2)."""

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.problem import WorkerProblem

APART_S = 1e-9
"""Steps nearer to each other than this are one."""

MOST_EXACT = 100
"""More latencies than this lie so near to each other that equal steps do."""


def slack_grid(problem: WorkerProblem) -> NDArray[np.float64]:
    """Ascending slack times in seconds, from 0 to the objective; a slack counts as the largest one not above it.

    With ``slack_steps`` D above 0 they are D equal steps (FLD, section 4.2.2), with 0 all distinct latencies that
    meet the objective (MD, section 4.2.1), to which 0 and the objective itself are added. The process per query has
    both, unless there are more latencies than `MOST_EXACT`: the latencies, so that rounding a slack down never rules
    out a launch that is in time, and equal steps, so that ages are known well enough to tell what comes next.
    """
    equal_s = np.linspace(0.0, problem.slo_s, problem.slack_steps + 1) if problem.slack_steps else np.array([0.0])
    latency_s = np.array(problem.latency_s)
    in_time_s = np.unique(latency_s[latency_s < problem.slo_s])
    many = len(in_time_s) > MOST_EXACT
    if problem.slack_steps and (problem.formulation == "per_decision" or many):
        return equal_s
    steps_s = np.unique(np.concatenate([equal_s, in_time_s, [problem.slo_s]]))
    return steps_s[np.diff(steps_s, prepend=-1.0) > APART_S]

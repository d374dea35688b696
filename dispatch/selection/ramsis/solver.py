"""From a problem to its decision table."""

import math
from dataclasses import replace

import numpy as np

from dispatch.selection.ramsis.per_decision.process import solve_per_decision
from dispatch.selection.ramsis.per_decision.variable_batching import solve_variable_batching
from dispatch.selection.ramsis.per_query.process import MOST_TOGETHER, Start, rough_accuracy, solve_per_query
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.table import DecisionTable

VERSION = 11
"""Raised whenever answers change, so that tables kept from before are made anew."""

SHORTEST_QUEUE_ROWS = 16
DEVIATIONS = 6.0
"""Queues are told apart up to so many standard deviations above what comes within the objective on average."""

COARSE_SLACK_STEPS = 16
"""Enough to tell which group is best, beside the latencies; the table itself has the problem's steps."""

MOST_IN_GROUP = 12

FEW_GROUPS = 2
HOPELESS = 0.01
"""Where the first few groups have next to no query in time, the rest is not tried."""

NO_WORSE = 1e-4
"""A larger group must give more than this to be preferred."""


def solve(problem: WorkerProblem) -> DecisionTable:
    """The optimal decision table of a problem.

    For the process per query with several workers the round-robin group of the problem is replaced by the best one.
    Raises ValueError for combinations that have no formulation: variable batching or shortest queues per query.
    """
    if problem.formulation == "per_decision":
        return solve_variable_batching(problem) if problem.batching == "variable" else solve_per_decision(problem)
    if problem.batching != "maximal" or problem.balancing != "round_robin":
        raise ValueError(
            f"{problem.batching} batching with {problem.balancing} has no process per query; "
            "use formulation 'per_decision', or maximal batching with round robin"
        )
    short = shortened(problem.staggered())
    group, start = best_group(short)
    return solve_per_query(_with_groups(short, group), start)


def solve_single(problem: WorkerProblem) -> DecisionTable:
    """The optimal table of the process per query under round robin without groups: to see what groups bring."""
    return solve_per_query(shortened(problem.staggered()).grouped(1), None)


def shortened(problem: WorkerProblem) -> WorkerProblem:
    """The problem with no longer queues than may come while a batch in time runs."""
    mean = problem.load_qps / problem.workers * problem.slo_s
    bursts = problem.arrivals.together_pmf(MOST_TOGETHER)
    sizes = np.arange(len(bursts))
    spread = float(bursts @ sizes**2 / (bursts @ sizes))
    rows = max(SHORTEST_QUEUE_ROWS, math.ceil(mean + DEVIATIONS * math.sqrt(mean * spread)))
    return problem.up_to(rows)


def best_group(problem: WorkerProblem) -> tuple[int, Start | None]:
    """Consecutive queries per worker that give the most accuracy: 1 for one worker, or where queries come in bursts.

    Groups are tried on a coarser grid of slacks and queue lengths, up to the largest batch that meets the objective and
    to what one worker gets within the objective: with more, workers would stand idle between their turns. Where queues
    are long anyway, large groups bring nothing: `MOST_IN_GROUP` is the end.
    """
    in_time = [n for latency_s in problem.latency_s for n, s in enumerate(latency_s, start=1) if s <= problem.slo_s]
    single = problem.arrivals.together_pmf(1)[1] == 1.0
    if problem.workers == 1 or not single or not in_time:
        return 1, None
    most = min(max(in_time), MOST_IN_GROUP, math.ceil(problem.load_qps / problem.workers * problem.slo_s))
    steps = min(problem.slack_steps, COARSE_SLACK_STEPS) if problem.slack_steps else COARSE_SLACK_STEPS
    rows = min(problem.max_queue_rows, 2 * max(in_time))
    coarse = replace(problem.up_to(rows), slack_steps=steps)
    best, best_accuracy = 1, -math.inf
    best_start: Start | None = None
    start: Start | None = None
    for group in range(1, most + 1):
        hopeless = group > FEW_GROUPS and best_accuracy < HOPELESS
        if hopeless or best_accuracy > max(problem.accuracies) - NO_WORSE:
            break
        accuracy, start = rough_accuracy(_with_groups(coarse, group), best_accuracy, start)
        if accuracy > best_accuracy + NO_WORSE:
            best, best_accuracy, best_start = group, accuracy, start
    return best, best_start


def _with_groups(problem: WorkerProblem, group: int) -> WorkerProblem:
    return problem if group == 1 else problem.in_whole_batches().grouped(group)

"""All policies on the same parts with the same number of workers."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from math import ceil
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.forecast_value.frontier import Point, headroom_for, mean_workers
from benchmarks.forecast_value.parts import Choice, Part
from benchmarks.forecast_value.play import Outcome, demands_qps, play
from benchmarks.forecast_value.policies import LEVEL, ORACLE, REACTIVE, Policy, forecasts_of, oracle
from benchmarks.forecast_value.service import worker_qps
from forecast.series.series import LoadSeries

BUDGET = 1.2
"""The one that is reported first: about what DeepAR's 95% quantile needs without any headroom."""

BUDGETS = (1.1, BUDGET, 1.35)
"""The mean number of workers of every policy, as multiples of the oracle's without headroom."""

WIDE_BUDGETS = {REACTIVE: (1.0, 1.6), ORACLE: (1.0,)}
"""They are the measure in every kind of hours, where other policies may have more workers or fewer than in all."""

MOST = 3.0
"""There are workers for so many times the highest load."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Result:
    """By policy, for each of ``budgets`` and then what was played beside: headrooms, and outcomes by part."""

    choice: Choice
    budgets: Sequence[float]
    headrooms: dict[str, list[float]]
    outcomes: dict[str, list[list[Outcome]]]
    fit_s: dict[str, float]

    def number(self, budget: float) -> int:
        """The place of a budget."""
        return self.budgets.index(budget)

    def points(self, kind: str) -> dict[str, list[Point]]:
        """By policy."""
        return {name: [Point.of(self.choice, own, kind) for own in runs] for name, runs in self.outcomes.items()}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is to be compared: forecasters fitted to the series up to ``trained_until_s``, on the parts chosen."""

    series: LoadSeries
    trained_until_s: int
    choice: Choice
    forecasters: Sequence[str]
    seed: int = 0
    processes: int = 2
    budgets: Sequence[float] = field(default=BUDGETS)

    def run(self, console: Console) -> Result:
        """Fit, set the headrooms, play."""
        parts = self.choice.parts
        most_workers = ceil(MOST * max(int(part.played.max()) for part in parts) / worker_qps()) + 1
        with ProcessPoolExecutor(self.processes, get_context("spawn")) as pool:

            def gathered(words: str, futures: Sequence[Future[T]]) -> list[T]:
                if not console.is_terminal:
                    console.print(f"{words}, {len(futures)} in all", style="dim")
                shown = track(futures, words, console=console, disable=not console.is_terminal)
                return [future.result() for future in shown]

            fits = [pool.submit(_fit, n, self.series, self.trained_until_s, parts, self.seed) for n in self.forecasters]
            policies = [Policy(REACTIVE), oracle(self.series, parts)]
            fit_s = {}
            for name, (forecasts, seconds) in zip(self.forecasters, gathered("fitting", fits), strict=True):
                policies.append(Policy(name, LEVEL.get(name, 0.5), forecasts))
                fit_s[name] = seconds
            asked = [pool.submit(_demands, policy, parts) for policy in policies]
            demands = dict(zip([p.name for p in policies], gathered("planning", asked), strict=True))
            unit = mean_workers(self.choice, demands[ORACLE], 1.0, most_workers)
            headrooms = {
                policy.name: [
                    headroom_for(self.choice, demands[policy.name], budget * unit, most_workers)
                    for budget in (*self.budgets, *WIDE_BUDGETS.get(policy.name, ()))
                ]
                for policy in policies
            }
            todo = [(policy, headroom) for policy in policies for headroom in headrooms[policy.name]]
            runs = [pool.submit(_play, *each, parts, most_workers, self.seed) for each in todo]
            outcomes: dict[str, list[list[Outcome]]] = {policy.name: [] for policy in policies}
            for (policy, _), outcome in zip(todo, gathered("playing", runs), strict=True):
                outcomes[policy.name].append(outcome)
        return Result(self.choice, self.budgets, headrooms, outcomes, fit_s)


def _fit(
    name: str, series: LoadSeries, trained_until_s: int, parts: Sequence[Part], seed: int
) -> tuple[list[NDArray[np.float64]], float]:
    begun_s = time.perf_counter()
    return forecasts_of(name, series, trained_until_s, parts, seed), time.perf_counter() - begun_s


def _demands(policy: Policy, parts: Sequence[Part]) -> list[list[float]]:
    return [demands_qps(policy, number, part) for number, part in enumerate(parts)]


def _play(policy: Policy, headroom: float, parts: Sequence[Part], most_workers: int, seed: int) -> list[Outcome]:
    return [play(policy, number, part, headroom, most_workers, seed) for number, part in enumerate(parts)]

"""The systems that are compared. They differ in what they may choose, and in nothing else."""

from dataclasses import dataclass, replace
from math import ceil, inf

from autoscaler.planners.ipa.baselines import fa2, loki, rim
from autoscaler.planners.ipa.placement.upgrades import upgraded
from autoscaler.planners.ipa.problem import IpaOptions, PipelineProblem
from autoscaler.planners.ipa.solution import PipelineSolution, Solution
from autoscaler.planners.ipa.solver import solve
from benchmarks.ipa.pipelines import Pipeline

IPA, LITERAL, FA2_LOW, FA2_HIGH, RIM, LOKI = "ipa", "literal", "fa2_low", "fa2_high", "rim", "loki"
SYSTEMS = (IPA, LITERAL, FA2_LOW, FA2_HIGH, RIM, LOKI)
"""`IPA` is planned as it ships, `LITERAL` the paper's, whose replicas hold one variant."""

UPGRADED, UPGRADES = (IPA, RIM, LOKI), 4
"""Replicas of systems that choose variants hold so many more accurate ones beside the planned one, as
configs/pipeline.yaml has it."""

BETA = 1.0
"""Of every system: a core costs 1, so that alpha is the number of cores that a rank is worth."""

STEP_QPS = 0.05
"""Loads are rounded up to multiples of this, so that a plan is solved once."""


@dataclass(frozen=True)
class Setting:
    """A system with the knobs that it has.

    ``headroom`` is what the load is multiplied by. IPA has ``alpha``, as the paper's has, RIM ``replicas``, Loki
    ``cost_limit``.
    """

    system: str
    headroom: float = 1.0
    alpha: float = 0.0
    replicas: int = 1
    cost_limit: float = inf


class Planned:
    """The plans of a pipeline under a setting."""

    def __init__(self, pipeline: Pipeline, setting: Setting) -> None:
        self._pipeline = pipeline
        self._setting = setting
        self._plans: dict[int, PipelineSolution] = {}

    def plan(self, load_qps: float) -> PipelineSolution:
        """For a load in queries per second, without headroom."""
        steps = max(ceil(self._setting.headroom * load_qps / STEP_QPS - 1e-9), 1)
        if steps not in self._plans:
            problem = replace(self._pipeline.problem, load_qps=steps * STEP_QPS)
            solution = self._solved(problem)
            if not solution.pipelines:
                raise RuntimeError(f"{self._setting} has no plan: {' '.join(solution.explanation)}")
            own = solution.pipelines[problem.name]
            self._plans[steps] = upgraded(problem, own, UPGRADES) if self._setting.system in UPGRADED else own
        return self._plans[steps]

    def _solved(self, problem: PipelineProblem) -> Solution:
        setting, options = self._setting, IpaOptions(alpha=self._setting.alpha, beta=BETA)
        match setting.system:
            case "ipa" | "literal":
                return solve((problem,), options)
            case "fa2_low":
                return fa2(problem, "low", options)
            case "fa2_high":
                return fa2(problem, "high", options)
            case "rim":
                return rim(problem, setting.replicas, options)
            case "loki":
                return loki(problem, setting.cost_limit, options)
        raise ValueError(f"no system {setting.system!r}; there are {', '.join(SYSTEMS)}")

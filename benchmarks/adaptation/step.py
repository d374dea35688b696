"""The load rises to a multiple at once, and falls back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from benchmarks.adaptation.answers import Answers
from benchmarks.adaptation.calibration import Loads
from benchmarks.adaptation.plan_times import Decision, covered_before, in_brief, plan_in_force_s
from benchmarks.adaptation.recovery import accuracy_recovered_s, violations_recovered_s
from benchmarks.adaptation.traffic import Played
from workload.rate import RateSchedule, RateStep

WARM_UP_S, BASE_S, STEP_S, CALM_S = 5.0, 15.0, 15.0, 25.0
TIMES = ("plan_in_force_s", "violations_recovered_s", "accuracy_recovered_s")


@dataclass(frozen=True)
class StepLoad:
    """A warm-up and the base load, then so many rounds of step and calm: the end of a calm is the next one's base."""

    loads: Loads
    rounds: int

    @property
    def duration_s(self) -> float:
        """From the first query to the last."""
        return WARM_UP_S + BASE_S + self.rounds * (STEP_S + CALM_S)

    @property
    def steps_s(self) -> list[float]:
        """When the load rises, in seconds from the start."""
        return [WARM_UP_S + BASE_S + number * (STEP_S + CALM_S) for number in range(self.rounds)]

    def phases_s(self) -> dict[str, list[tuple[float, float]]]:
        """From when to when the load is what, in seconds from the start."""
        rises_s = self.steps_s
        return {
            "base": [(WARM_UP_S, WARM_UP_S + BASE_S)],
            "step": [(rise_s, rise_s + STEP_S) for rise_s in rises_s],
            "calm": [(rise_s + STEP_S, rise_s + STEP_S + CALM_S) for rise_s in rises_s],
        }

    def rates(self, endpoints: Sequence[str]) -> dict[str, RateSchedule]:
        """The schedule of each endpoint, which all have the same part of the load."""
        base_qps, step_qps = self.loads.base_qps / len(endpoints), self.loads.step_qps / len(endpoints)
        steps = [RateStep(base_qps, WARM_UP_S + BASE_S)]
        for _ in range(self.rounds):
            steps += [RateStep(step_qps, STEP_S), RateStep(base_qps, CALM_S)]
        return dict.fromkeys(endpoints, RateSchedule(tuple(steps)))


def step_figures(
    load: StepLoad, played: Played, decisions: Sequence[Decision], step_qps: Mapping[str, float]
) -> dict[str, Any]:
    """What came of it: medians of the times over rounds, sums of failures; ``step_qps`` is by endpoint."""
    rounds = [round_times(played, decisions, rise_s, step_qps) for rise_s in load.steps_s]
    return {
        **{name: _median([each[name] for each in rounds]) for name in TIMES},
        "failed_queries": int(played.answers.failed.sum()),
        "queries": len(played.answers),
        "failures": {kind: asdict(each) for kind, each in played.failures.items()},
        "rates_qps": asdict(load.loads),
        "phases": phase_figures(load, played.answers),
        "rounds": rounds,
        "generator_lag_p99_ms": played.lag_p99_ms,
        "plans": in_brief(decisions, played.began_at_s, played.ended_at_s),
    }


def round_times(
    played: Played, decisions: Sequence[Decision], rise_s: float, step_qps: Mapping[str, float]
) -> dict[str, Any]:
    """The three times of one round, None where it never came to that; accuracy before is that of the base load.

    ``covered_before`` says whether the plan had room for the step already.
    """
    answers, fall_s = played.answers, rise_s + STEP_S
    before_pct = answers.between(WARM_UP_S, WARM_UP_S + BASE_S).accuracy_pct
    in_force_s = plan_in_force_s(decisions, played.began_at_s + rise_s, step_qps)
    return {
        "plan_in_force_s": None if in_force_s is not None and in_force_s > STEP_S else in_force_s,
        "violations_recovered_s": violations_recovered_s(answers, rise_s, fall_s),
        "accuracy_recovered_s": None
        if before_pct is None
        else accuracy_recovered_s(answers, fall_s, fall_s + CALM_S, before_pct),
        "covered_before": covered_before(decisions, played.began_at_s + rise_s, step_qps),
    }


def phase_figures(load: StepLoad, answers: Answers) -> dict[str, dict[str, Any]]:
    """Queries per second, violations and expected accuracy of each phase, over all rounds."""
    figures = {}
    for phase, spans_s in load.phases_s().items():
        chosen = answers.where(answers.inside(spans_s))
        seconds = sum(end_s - start_s for start_s, end_s in spans_s)
        figures[phase] = {
            "seconds": seconds,
            "rate_qps": len(chosen) / seconds,
            "violation_pct": chosen.violation_pct,
            "accuracy_pct": chosen.accuracy_pct,
            "p99_ms": chosen.p99_ms(),
        }
    return figures


def _median(times_s: Sequence[float | None]) -> float | None:
    """Where more than half never came to an end, neither does the median."""
    found = median([float("inf") if each is None else each for each in times_s])
    return None if found == float("inf") else found

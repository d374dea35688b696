"""What counts for the goals: every pipeline, and costs of who bears the load."""

import numpy as np
import pytest

from benchmarks.ipa.comparison import Pair, Result
from benchmarks.ipa.goals import goals_of
from benchmarks.ipa.simulation import Outcome, Timeline
from benchmarks.ipa.systems import FA2_HIGH, FA2_LOW, IPA, RIM, Setting
from benchmarks.ipa.tuning import ACCURACY, BALANCED_NAME, RESOURCE, Tuned

NOTHING = np.zeros(0)


def outcome(cost_cores: float, violated: int = 0, accuracy: float = 50.0) -> Outcome:
    timeline = Timeline(*(NOTHING for _ in Timeline.__dataclass_fields__))
    return Outcome(1000, violated, accuracy, 0.5, cost_cores, 0.1, 0.2, 0, timeline)


def result(ours: Outcome, rim: Outcome, reactive: int = 5, predictive: int = 1) -> Result:
    systems = {IPA: ours, RIM: rim, FA2_LOW: outcome(5.0, 0, 0.0), FA2_HIGH: outcome(20.0, 0, 100.0)}
    alphas = {RESOURCE: 0.01, BALANCED_NAME: 4.0, ACCURACY: 64.0}
    tuned = Tuned({name: Setting(name) for name in systems}, dict.fromkeys(systems, 0.5), alphas)
    frontier = {alpha: outcome(5.0 + alpha, 0, 40.0 + alpha / 2) for alpha in alphas.values()}
    pair = Pair(outcome(5.0, predictive), outcome(5.0, reactive), outcome(5.0, reactive), 1.0, 1.0)
    return Result(tuned, {"bursty": systems}, frontier, pair)


@pytest.mark.parametrize(("cost_cores", "met"), [(7.5, True), (6.0, False)])
def test_costs_are_compared_where_the_other_bears_the_load(cost_cores: float, met: bool) -> None:
    results = {"video": result(outcome(7.0), outcome(cost_cores)), "nlp": result(outcome(7.0), outcome(1.0, 900))}
    goal = goals_of(results)["cost_over_rim"]
    assert goal.met == met
    assert goal.reached == pytest.approx(7.0 / cost_cores)
    assert "does not bear the load, and is not compared, in: nlp, bursty" in goal.where


def test_where_nobody_bears_the_load_nothing_is_met() -> None:
    assert not goals_of({"nlp": result(outcome(7.0), outcome(1.0, 900))})["cost_over_rim"].met


def test_pipelines_in_which_reacting_loses_nothing_count_too() -> None:
    alike = {"a": (10, 1), "b": (0, 0), "c": (0, 7)}
    results = {name: result(outcome(7.0), outcome(8.0), *pair) for name, pair in alike.items()}
    assert goals_of(results)["fewer_violations_than_reactive"].reached == 1.0
    del results["c"], results["b"]
    assert goals_of(results)["fewer_violations_than_reactive"].reached == 10.0

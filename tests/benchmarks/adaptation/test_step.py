"""The step's schedule, and what is made of a run that was made up."""

import pytest

from adaptation_scene import decision, record
from benchmarks.adaptation.answers import Answers
from benchmarks.adaptation.calibration import Loads
from benchmarks.adaptation.step import BASE_S, CALM_S, STEP_S, WARM_UP_S, StepLoad, step_figures
from benchmarks.adaptation.traffic import Played, failures_of

NOW_S = 1_800_000_000.0
LOADS = Loads(40.0, 160.0, 128.0, 97.7)
STEP_QPS = {"a": 80.0, "b": 80.0}


def played(load: StepLoad, slow_s: float, dull_s: float) -> Played:
    """Two queries a second; late so long after each rise, of lower accuracy so long after each fall."""
    rows = []
    for half_seconds in range(int(load.duration_s * 2)):
        at_s = half_seconds / 2 + 0.25
        late = any(rise_s <= at_s < rise_s + slow_s for rise_s in load.steps_s)
        dull = any(rise_s <= at_s < rise_s + STEP_S + dull_s for rise_s in load.steps_s)
        rows.append(record(at_s, 1.0 if late else 0.01, 0.95 if dull else 0.977))
    records = {"a": rows, "b": [record(load.duration_s - 1.0, 0.01, None, error="NoWorker")]}
    answers = Answers.of(records, {"a": 100.0, "b": 100.0})
    return Played(NOW_S, load.duration_s, answers, failures_of(records), 1.0)


def test_phases_follow_each_other_and_rates_change_with_them() -> None:
    load = StepLoad(LOADS, 2)
    spans_s = sorted(span for spans in load.phases_s().values() for span in spans)
    assert spans_s[0][0] == WARM_UP_S
    assert [end_s for _, end_s in spans_s] == [*(start_s for start_s, _ in spans_s[1:]), load.duration_s]
    steps = load.rates(["a", "b"])["b"].steps
    assert [step.rate_qps for step in steps] == [20.0, 80.0, 20.0, 80.0, 20.0]
    assert [step.duration_s for step in steps] == [WARM_UP_S + BASE_S, STEP_S, CALM_S, STEP_S, CALM_S]


def test_times_are_medians_over_rounds_and_failures_are_summed() -> None:
    load = StepLoad(LOADS, 3)
    decisions = [
        decision(number, NOW_S + rise_s + 0.5, NOW_S + rise_s + after_s, {"a": 100.0, "b": 100.0})
        for number, (rise_s, after_s) in enumerate(zip(load.steps_s, (1.0, 4.0, 2.0), strict=True))
    ]
    figures = step_figures(load, played(load, 3.0, 6.0), decisions, STEP_QPS)
    assert figures["plan_in_force_s"] == pytest.approx(2.0, abs=2e-3)
    assert [each["plan_in_force_s"] for each in figures["rounds"]] == pytest.approx([1.0, 4.0, 2.0], abs=2e-3)
    assert figures["violations_recovered_s"] == 3.0
    assert figures["accuracy_recovered_s"] == 6.0
    assert figures["failed_queries"] == 1
    assert figures["failures"]["NoWorker"]["count"] == 1


def test_a_median_over_rounds_that_mostly_never_recovered_is_never() -> None:
    load = StepLoad(LOADS, 3)
    decisions = [decision(1, NOW_S + load.steps_s[0] + 1, NOW_S + load.steps_s[0] + 2, STEP_QPS)]
    figures = step_figures(load, played(load, STEP_S, CALM_S), decisions, STEP_QPS)
    assert figures["plan_in_force_s"] is None
    assert figures["violations_recovered_s"] is None
    assert figures["accuracy_recovered_s"] is None


def test_a_plan_that_comes_when_the_load_has_fallen_again_came_too_late() -> None:
    load = StepLoad(LOADS, 1)
    rise_s = NOW_S + load.steps_s[0]
    figures = step_figures(load, played(load, 0.0, 0.0), [decision(1, rise_s + 9, rise_s + 20, STEP_QPS)], STEP_QPS)
    assert figures["plan_in_force_s"] is None


def test_phases_have_their_own_violations_and_accuracy() -> None:
    load = StepLoad(LOADS, 2)
    phases = step_figures(load, played(load, 3.0, 0.0), [], STEP_QPS)["phases"]
    assert phases["base"] == {
        "seconds": BASE_S,
        "rate_qps": 2.0,
        "violation_pct": 0.0,
        "accuracy_pct": pytest.approx(97.7),
        "p99_ms": pytest.approx(10.0),
    }
    assert phases["step"]["violation_pct"] == pytest.approx(100 * 3.0 / STEP_S)
    assert phases["step"]["accuracy_pct"] == pytest.approx(95.0)
    assert phases["calm"]["accuracy_pct"] == pytest.approx(97.7)

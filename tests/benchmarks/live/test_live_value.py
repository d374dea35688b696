"""Who is ahead of what a user would write, and how the user's application is set up."""

from dataclasses import replace

import numpy as np
import orjson
import pytest

from benchmarks.live_value.figures import Figures, Medians, goals_met, goals_of
from benchmarks.live_value.queries import dataset
from benchmarks.live_value.tuning import Tuned
from benchmarks.live_value.user_service import Rule
from catalog.zoo.digits import held_out
from serve_app.testing.queries import Queries

TUNED = Tuned(Rule("large", "small"), 1, {"large": 400.0, "middle": 700.0, "quick": 1500.0, "small": 1400.0})


def medians(ours: tuple[float, float], **rules: tuple[float, float]) -> dict[str, Medians]:
    return {"accord": Medians(*ours)} | {name: Medians(*each) for name, each in rules.items()}


def test_figures_are_of_the_client_and_of_the_labels() -> None:
    at_s = np.zeros(4)
    done_s = np.array([0.05, 0.15, 0.05, 0.05])
    failed = np.array([False, False, True, False])
    correct = np.array([1.0, 1.0, np.nan, 0.0])
    names = np.array(["a", "a", "", "b"])
    none = np.zeros(4, dtype=np.bool_)
    status, rows = np.full(4, 200), np.ones(4, dtype=np.int64)
    came_back = Queries(
        at_s, at_s, done_s, failed, none, correct, correct, names, status, names, none, at_s, at_s, rows
    )
    found = Figures.of(came_back, slo_ms=100.0)
    assert found.violation_pct == 50.0, "one is late, one failed"
    assert found.accuracy_pct == 50.0, "of the two in time one is right"
    assert found.failed_pct == 25.0
    assert found.variants_pct == {"a": pytest.approx(200 / 3), "b": pytest.approx(100 / 3)}
    assert orjson.loads(orjson.dumps(found))["queries"] == 4, "as JSON"


def test_medians_are_over_rounds() -> None:
    rounds = [
        Figures(accuracy, late, 0.0, 1.0, 0.0, 9, {}) for accuracy, late in ((90.0, 1.0), (80.0, 3.0), (None, 2.0))
    ]
    assert Medians.of(rounds) == Medians(80.0, 2.0)


def test_a_point_more_at_one_percent_is_enough() -> None:
    goals = goals_of(medians((96.0, 0.5), cautious=(94.5, 0.9), daring=(97.5, 1.2), fastest=(75.0, 0.0)))
    assert goals["at_one_percent"] == {"met": True, "best_rule": "cautious", "points": 1.5, "wanted_points": 1.0}
    assert not goals["at_equal_accuracy"]["met"] or goals["at_equal_accuracy"]["best_rule"] == "daring"
    assert goals_met(goals)


@pytest.mark.parametrize(("late", "met"), [(2.0, True), (2.1, False)])
def test_half_the_violations_at_equal_accuracy_are_enough(late: float, met: bool) -> None:
    goals = goals_of(medians((96.0, late), accurate=(97.0, 9.0), alike=(95.96, 4.0), cautious=(95.5, 0.9)))
    assert not goals["at_one_percent"]["met"], "Accord violates more than 1%"
    assert goals["at_equal_accuracy"]["best_rule"] == "alike"
    assert goals["at_equal_accuracy"]["met"] is met
    assert goals_met(goals) is met


def test_where_none_is_late_anyway_nobody_is_ahead_at_equal_accuracy() -> None:
    goals = goals_of(medians((97.0, 0.0), accurate=(97.5, 0.0), fastest=(75.0, 0.0)))
    assert goals["at_equal_accuracy"]["best_rule"] == "accurate"
    assert not goals["at_equal_accuracy"]["met"]
    assert not goals_met(goals)
    some = goals_of(medians((97.0, 0.0), accurate=(97.5, 0.1), fastest=(75.0, 0.0)))
    assert some["at_equal_accuracy"]["met"]


def test_accord_alone_at_one_percent_is_ahead() -> None:
    goals = goals_of(medians((90.0, 0.9), accurate=(97.0, 9.0)))
    assert goals["at_one_percent"]["met"]
    assert goals["at_one_percent"]["best_rule"] is None


def test_the_second_best_is_the_most_accurate_that_bears_the_load_alone() -> None:
    assert TUNED.accurate_qps == 400.0
    assert TUNED.second(500.0) == "middle"
    assert TUNED.second(1300.0) == "quick"
    assert TUNED.second(9000.0) is None, "none is fast enough"
    assert replace(TUNED, rule=TUNED.rule.only("quick")).second(1300.0) is None, "it is the small one anyway"


def test_a_query_has_so_many_digits_and_the_label_of_the_first() -> None:
    images, labels = held_out()
    made = dataset(3)
    assert len(made.bodies) == len(labels)
    (tensor,) = orjson.loads(made.bodies[-1])["inputs"]
    assert tensor["shape"] == [3, 12, 12]
    assert np.array_equal(np.reshape(tensor["data"], tensor["shape"]), images[[-1, 0, 1]])
    assert made.label(len(labels) - 1) == labels[-1]


def test_one_variant_always_is_a_rule_too() -> None:
    rule = TUNED.rule.only("quick")
    assert (rule.accurate, rule.small) == ("quick", "quick")

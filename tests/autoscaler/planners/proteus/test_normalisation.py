"""Endpoints weigh alike where accuracies are in parts of their best; what a plan says of them stays as given."""

import pytest

from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.proteus.normalisation import best_accuracy, normalised
from autoscaler.planners.proteus.options import Accuracy, ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import cluster, endpoint, even, observed, workers

EASY = endpoint("easy", even("easy-fast", 0.85, 40.0), even("easy-best", 1.0, 10.0))
HARD = endpoint("hard", even("hard-fast", 0.4, 40.0), even("hard-best", 0.5, 10.0))
BOTH = cluster(EASY, HARD)


def planned(accuracy: Accuracy) -> ClusterPlan:
    options = ProteusOptions(deviations=0.0, tolerance=0.0, room_down_to=1.0, accuracy=accuracy)
    plan = ProteusPlanner(BOTH, options).plan(observed({"easy": 20.0, "hard": 20.0}, workers(cpu=3)))
    assert isinstance(plan, ClusterPlan)
    return plan


def test_each_variant_is_divided_by_the_best_of_its_endpoint() -> None:
    assert best_accuracy(BOTH) == {"easy": 1.0, "hard": 0.5}
    easy, hard = normalised(BOTH).endpoints
    assert easy == EASY
    assert [c.accuracy for c in hard.candidates["cpu"]] == pytest.approx([0.8, 1.0])
    assert [c.latency_s for c in hard.candidates["cpu"]] == [c.latency_s for c in HARD.candidates["cpu"]]


def test_an_endpoint_without_accuracy_stays() -> None:
    none = cluster(endpoint("a", even("v", 0.0, 10.0)), endpoint("b"))
    assert normalised(none) == none


def test_who_keeps_its_best_variants_depends_on_what_is_weighed() -> None:
    # 3 workers: two best ones for one endpoint, a fast one for the other. Given, easy loses 0.15 and hard 0.1; of
    # their best, easy loses 0.15 and hard 0.2
    assert planned("given").accuracy == pytest.approx({"easy": 1.0, "hard": 0.4})
    assert planned("normalised").accuracy == pytest.approx({"easy": 0.85, "hard": 0.5})

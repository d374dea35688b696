"""The picture of several systems: it is drawn, whatever they did."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from simulator.batch_log import Batches
from simulator.control_path import PlanChange
from simulator.record import Record
from simulator.reporting.comparison_plot import save_comparison

PLAN = ClusterPlan(report=SolveReport(Status.HEURISTIC, None, 0.0))
CHANGES = [
    PlanChange(0.0, "the initial plan", PLAN, 0.0),
    PlanChange(1.0, "the interval is over", None, None),
    PlanChange(2.0, "the interval is over", PLAN, 3.5),
]


def record(arrival_s: list[float], answered: int) -> Record:
    """The first ``answered`` queries are answered after half a second."""
    arrivals = np.array(arrival_s)
    zeros = np.zeros(answered, dtype=np.intp)
    done_s = arrivals[:answered] + 0.5
    ids = np.arange(answered, dtype=np.intp)
    batches = Batches(["v"], ["w"], zeros, zeros, zeros + 0.9, zeros + 1, arrivals[:answered], done_s, ids)
    endpoint = np.zeros(len(arrivals), dtype=np.intp)
    return Record(["e"], arrivals, arrivals + 1.0, endpoint, batches.of_queries(len(arrivals)), batches)


@pytest.mark.parametrize("arrival_s", [[], [0.0], [0.0, 1.0, 2.5, 7.0]])
def test_a_picture_is_drawn_of_systems_that_answer_all_or_nothing(tmp_path: Path, arrival_s: list[float]) -> None:
    path = tmp_path / "systems.png"
    systems = {"ours": (record(arrival_s, len(arrival_s)), CHANGES), "theirs": (record(arrival_s, 0), CHANGES[:1])}
    save_comparison(path, "Two systems", systems, 2.0)
    pixels = imread(path)
    assert pixels.shape[:2] == (1200, 1320)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 10

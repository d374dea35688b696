"""ModelSwitching on response latencies made up for the purpose."""

from dispatch.selection.load_based.load_ladder import LoadLadder
from dispatch.selection.load_based.model_switching import model_switching
from dispatch.selection.policy import Candidate

FAST = Candidate("fast", 0.7, (0.0, 0.010, 0.014, 0.018, 0.030, 0.060))
SLOW = Candidate("slow", 0.9, (0.0, 0.030, 0.050, 0.090))
LOADS_QPS = (100.0, 200.0, 300.0, 400.0)
SLO_S = 0.1


class Profiled:
    """Meets the objective up to a load per variant, and counts how often it is asked."""

    def __init__(self, **met_qps: float) -> None:
        self.met_qps = met_qps
        self.asked: list[tuple[str, int, float]] = []

    def p99_s(self, ladder: LoadLadder, load_qps: float) -> float:
        (only,) = ladder.rungs
        self.asked.append((only.variant, only.max_rows, load_qps))
        return SLO_S - 1e-6 if load_qps <= self.met_qps[only.variant] else SLO_S


def test_a_load_takes_the_variant_that_met_the_objective_at_the_nearest_profiled_load_below() -> None:
    made = model_switching((FAST, SLOW), SLO_S, 10, LOADS_QPS, Profiled(slow=200.0, fast=300.0).p99_s)
    served = {load: made.at(load) for load in (10.0, 200.0, 299.0, 300.0, 399.0, 400.0, 1000.0)}
    assert [rung.variant for rung in served.values()] == ["slow"] * 3 + ["fast"] * 4
    assert [rung.max_rows for rung in served.values()] == [2, 2, 2, 4, 4, 5, 5]


def test_a_variant_that_meets_the_objective_at_every_profiled_load_serves_all_beyond() -> None:
    made = model_switching((FAST, SLOW), SLO_S, 10, LOADS_QPS, Profiled(slow=0.0, fast=900.0).p99_s)
    assert [(made.at(load).variant, made.at(load).max_rows) for load in (10.0, 5000.0)] == [("fast", 4)] * 2


def test_variants_are_profiled_alone_with_their_adaptive_batch_and_at_few_loads() -> None:
    profiled = Profiled(slow=200.0, fast=300.0)
    loads_qps = [float(load) for load in range(1, 1025)]
    model_switching((FAST, SLOW), SLO_S, 10, loads_qps, profiled.p99_s)
    assert {(variant, rows) for variant, rows, _ in profiled.asked} == {("slow", 2), ("fast", 4)}
    assert len(profiled.asked) <= 2 * 11

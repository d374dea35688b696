"""How the stages of a pipeline are served under a plan."""

from dataclasses import replace

import pytest

from autoscaler.cluster.cluster import Endpoint, Stage
from autoscaler.cluster.plan import StageChoice
from autoscaler.placement.stage_service import shares_behind_s, stage_services
from dispatch.balancing.registry import create_balancer
from dispatch.batching.planned_batches import PlannedBatches
from dispatch.plan import StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate


def candidate(name: str, row_s: float, rows: int = 8) -> Candidate:
    return Candidate(name, 0.9, tuple(row_s * n for n in range(rows + 1)))


FAST, SLOW = candidate("fast", 0.010), candidate("slow", 0.030)
READ = candidate("read", 0.040)
JOIN = candidate("join", 0.020)
STAGES = (
    Stage("find", (), {"cpu": (FAST, SLOW)}),
    Stage("read", ("find",), {"cpu": (READ,)}),
    Stage("join", ("find", "read"), {"cpu": (JOIN,)}),
)
PAGE = Endpoint("page", 0.4, {"cpu": (FAST, SLOW, READ, JOIN)}, STAGES)


def choice(after_s: float, **variants: int) -> StageChoice:
    return StageChoice(variants, 1, 1.0, 10.0, 0.1, 0.0, after_s)


def test_without_a_plan_each_stage_leaves_those_behind_it_their_part_of_the_objective() -> None:
    # find counts for 20 ms, the mean of its variants, and the longest path is find, read, join: 80 ms
    behind_s = shares_behind_s(STAGES, 0.4)
    assert behind_s == {"find": pytest.approx(0.3), "read": pytest.approx(0.1), "join": 0.0}
    services = stage_services(PAGE, {})
    assert {name: each.after_s for name, each in services.items()} == pytest.approx(behind_s)
    assert services["find"].candidates == {"cpu": (FAST, SLOW)}


def test_chosen_variants_run_in_planned_batches_and_others_of_the_stage_stay_for_workers_that_hold_them() -> None:
    services = stage_services(PAGE, {"find": choice(0.2, slow=3)})
    assert services["find"].candidates["cpu"] == (FAST, SLOW)
    # it takes 0.1 s of the 0.3 s that it and those behind it need
    planned = services["find"].of(StagePlan({}, GreedySelection(), None)).selection
    assert planned == PlannedBatches({"slow": 3}, time_share=pytest.approx(1 / 3), run_s=0.1)  # type: ignore[arg-type]
    assert services["find"].after_s == 0.2
    assert services["read"].after_s == pytest.approx(0.1)
    assert services["read"].of(StagePlan({}, PlannedBatches({}), None)).selection == GreedySelection()


def test_what_a_plan_allows_variants_that_it_has_not_chosen_reaches_the_selection() -> None:
    chosen = stage_services(PAGE, {"join": replace(choice(0.0, join=2), worker_share=0.5, beyond_s=0.05)})["join"]
    selection = chosen.of(StagePlan({}, GreedySelection(), None)).selection
    assert selection == PlannedBatches({"join": 2}, worker_share=0.5, time_share=1.0, longest_s=0.05, run_s=0.1)


def test_an_endpoint_of_one_task_keeps_the_policy_of_its_config() -> None:
    plain = Endpoint("plain", 0.1, {"cpu": (FAST, SLOW)})
    assert stage_services(plain, {}) == {}
    assert stage_services(plain, {"": choice(0.0, fast=2)}) == {}


def test_a_stage_keeps_its_queues_and_what_it_learned_under_another_service() -> None:
    built = StagePlan({"cpu": (FAST,)}, GreedySelection(), create_balancer("central"))
    served = stage_services(PAGE, {})["find"].of(built)
    assert (served.balancer, served.load) == (built.balancer, built.load)
    assert (served.candidates, served.after_s) == ({"cpu": (FAST, SLOW)}, pytest.approx(0.3))


def test_stages_without_any_candidate_leave_nothing_behind() -> None:
    assert shares_behind_s((Stage("a", (), {}), Stage("b", ("a",), {})), 1.0) == {"a": 0.0, "b": 0.0}

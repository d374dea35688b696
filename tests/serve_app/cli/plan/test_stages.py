"""The stages of a plan as people see them."""

from io import StringIO

from rich.console import Console, Group

from autoscaler.cluster.plan import ClusterPlan, SolveReport, StageChoice, Status
from serve_app.cli.plan.stages import render_stages

REPORT = SolveReport(Status.OPTIMAL, 0.0, 0.01)


def plan(**stages: StageChoice) -> ClusterPlan:
    return ClusterPlan(stages={"strips": stages}, report=REPORT)


def shown(of: ClusterPlan) -> str:
    out = StringIO()
    Console(file=out, width=80).print(Group(*render_stages(of, {"strips": 400.0})))
    return out.getvalue()


def test_a_stage_shows_what_the_plan_reckons_with_and_the_pipeline_its_longest_path() -> None:
    find = StageChoice({"find-m": 4}, 2, 2.0, 20.0, 0.030, 0.010, 0.120)
    read = StageChoice({"cnn": 16, "mlp": 8}, 3, 3.0, 130.0, 0.100, 0.020, 0.0)
    text = shown(plan(find=find, read=read))
    for cell in (
        "find-m",
        "cnn",
        "mlp",
        "16",
        "130",
        "30.0",
        "120.0",
        "160.0 of 400 ms at most, 5 workers, cost 5",
    ):
        assert cell in text


def test_there_is_no_table_for_plans_of_single_tasks() -> None:
    assert render_stages(ClusterPlan(report=REPORT), {}) == []
    assert (
        render_stages(
            ClusterPlan(stages={"digits": {"": StageChoice({"a": 1}, 1, 1.0, 1.0, 0.1, 0.0, 0.0)}}, report=REPORT), {}
        )
        == []
    )

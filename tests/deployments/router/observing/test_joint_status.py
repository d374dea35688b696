"""Several routers as one: sums, weighted means, and the worst verdict."""

from typing import Any

import pytest

from deployments.router.observing.joint_status import together
from deployments.router.observing.totals import Totals
from deployments.router.observing.worker_events import WorkerEvent, WorkerEvents

VARIANT = {"queries": 10, "share": 1.0, "expected_accuracy": 0.9}


def guarantee(queries: int = 0, violations: int = 0, kept: str = "too early", **changes: Any) -> dict[str, Any]:
    known = {
        "promised_violation_rate": 0.01,
        "observed_violation_rate": violations / queries if queries else None,
        "client_violation_rate": 2 * violations / queries if queries else None,
        "expected_violation_rate": 0.004,
        "expected_accuracy": 0.90,
        "observed_accuracy": 0.92,
        "predicted_violation_rate": 0.02,
        "predicted_accuracy": 0.90,
    }
    rates = known if queries else dict.fromkeys(known)
    whole = {"window_s": 10.0, "kept": kept, "queries": queries, "violations": violations, "broken": kept == "no"}
    return {**whole, **rates, **changes}


def status(router: str, guarantee: dict[str, Any], answered: int = 10, **changes: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("arrived", "answered"), answered)
    zeros = dict.fromkeys(("late", "rejected", "failed", "cancelled", "violations", "queued"), 0)
    digits = {
        "slo_ms": 80.0,
        "selection": "ramsis",
        "ready": True,
        "anticipated_qps": 50.0,
        "guarantee": guarantee,
        "tables": {"state": "exact", "made": 10, "wanted": 20, "query_rows": 1},
        "feedback": {"slack_factor": 1.0, "reason": None},
        "latency_ms": {"p50": 10.0, "p99": 30.0},
        "transport_ms": None,
        "rejected_by_reason": {},
        "rejected_by_code": {},
        "expected_accuracy": 0.9,
        "mean_batch_rows": None,
        "variants": {"double": VARIANT},
        "ground_truth": None,
        "totals": Totals().to_record(0.0),
        **counts,
        **zeros,
        **changes,
    }
    return {
        "routers": [router],
        "plan_version": 3,
        "endpoints": {"digits": digits},
        "workers": {f"{router}-w": {}},
        "worker_events": WorkerEvents().to_record(0.0),
    }


def joint(*statuses: dict[str, Any]) -> dict[str, Any]:
    return dict(together(statuses)["endpoints"]["digits"])


def test_counts_are_summed_latencies_are_the_worst_and_workers_all_there() -> None:
    one = status("r1", guarantee(), latency_ms={"p50": 12.0, "p99": 20.0}, rejected_by_reason={"Saturated": 2})
    other = status("r2", guarantee(), answered=30, rejected_by_reason={"Saturated": 1, "NoWorker": 4})
    whole = together([one, other])
    assert (whole["routers"], whole["plan_version"], [*whole["workers"]]) == (["r1", "r2"], 3, ["r1-w", "r2-w"])
    seen = whole["endpoints"]["digits"]
    assert (seen["arrived"], seen["answered"], seen["anticipated_qps"]) == (40, 40, 100.0)
    assert seen["latency_ms"] == {"p50": 12.0, "p99": 30.0}
    assert seen["transport_ms"] is None
    assert seen["rejected_by_reason"] == {"Saturated": 3, "NoWorker": 4}
    assert seen["variants"] == {"double": {"queries": 20, "share": 1.0, "expected_accuracy": 0.9}}


def test_rates_are_weighted_by_queries_and_accuracies_by_those_in_time() -> None:
    one = guarantee(1000, 100, "no", observed_accuracy=0.95, expected_accuracy=0.93)
    other = guarantee(3000, 0, "yes", observed_accuracy=0.90, promised_violation_rate=0.05)
    seen = joint(status("r1", one), status("r2", other))["guarantee"]
    assert (seen["queries"], seen["violations"]) == (4000, 100)
    assert seen["observed_violation_rate"] == pytest.approx(0.025)
    assert seen["client_violation_rate"] == pytest.approx(0.05)
    assert seen["promised_violation_rate"] == pytest.approx((1000 * 0.01 + 3000 * 0.05) / 4000)
    assert seen["observed_accuracy"] == pytest.approx((900 * 0.95 + 3000 * 0.90) / 3900)
    assert seen["expected_accuracy"] == pytest.approx((900 * 0.93 + 3000 * 0.90) / 3900)
    assert seen["predicted_violation_rate"] == pytest.approx(0.02)
    assert seen["predicted_accuracy"] == pytest.approx(0.90)
    assert seen["window_s"] == 10.0


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (("yes", "yes"), "yes"),
        (("yes", "too early"), "too early"),
        (("yes", "no"), "no"),
        (("too early", "no"), "no"),
    ],
)
def test_the_worst_verdict_is_that_of_all(verdicts: tuple[str, str], whole: str) -> None:
    for order in (verdicts, verdicts[::-1]):
        seen = joint(*(status(f"r{number}", guarantee(100, 1, kept)) for number, kept in enumerate(order)))
        assert seen["guarantee"]["kept"] == whole
        assert seen["guarantee"]["broken"] == ("no" in verdicts)


def test_a_router_without_queries_has_no_say() -> None:
    for order in (1, -1):
        two = [status("r1", guarantee()), status("r2", guarantee(500, 5, "yes"))]
        seen = joint(*two[::order])["guarantee"]
        assert (seen["kept"], seen["queries"], seen["observed_violation_rate"]) == ("yes", 500, 0.01)
        assert seen["expected_accuracy"] == pytest.approx(0.90)
    idle = joint(status("r1", guarantee()), status("r2", guarantee()))["guarantee"]
    assert (idle["kept"], idle["queries"], idle["observed_violation_rate"]) == ("too early", 0, None)


def test_there_is_a_bound_only_where_all_queries_have_one() -> None:
    unbounded = guarantee(100, 1, "yes", expected_accuracy=None, expected_violation_rate=None)
    seen = joint(status("r1", guarantee(100, 1, "yes")), status("r2", unbounded))["guarantee"]
    assert (seen["expected_accuracy"], seen["expected_violation_rate"]) == (None, None)
    assert seen["observed_violation_rate"] == pytest.approx(0.01)


def test_where_all_queries_were_late_there_is_no_accuracy() -> None:
    late = guarantee(100, 100, "no", observed_accuracy=None, expected_accuracy=None)
    seen = joint(status("r1", late), status("r2", guarantee(100, 0, "yes", observed_accuracy=0.92)))["guarantee"]
    assert seen["observed_accuracy"] == pytest.approx(0.92)
    assert joint(status("r1", late), status("r2", late))["guarantee"]["observed_accuracy"] is None


def test_tables_are_as_far_as_those_of_the_last_and_feedback_is_that_of_the_one_held_back_most() -> None:
    one = status("r1", guarantee(), tables={"state": "approximate", "made": 3, "wanted": 20, "query_rows": 8})
    held = {"slack_factor": 0.64, "reason": "9 of 90 queries were late"}
    other = status("r2", guarantee(), feedback=held)
    seen = joint(one, other)
    assert seen["tables"] == {"state": "approximate", "made": 13, "wanted": 40, "query_rows": 8}
    assert seen["feedback"] == held


def truth(labelled: int, right: int, **members: tuple[int, int, int, int]) -> dict[str, Any]:
    keys = ("labelled", "right", "answered", "agreed")
    each = {member: dict(zip(keys, counts, strict=True)) for member, counts in members.items()}
    return {"labelled": labelled, "right": right, "members": each}


def test_ground_truth_is_added_up_by_member_and_none_where_nobody_knows_of_any() -> None:
    one = status("r1", guarantee(), ground_truth=truth(10, 9, a=(10, 8, 100, 90), b=(4, 4, 40, 40)))
    other = status("r2", guarantee(), ground_truth=truth(5, 1, a=(5, 1, 50, 10), c=(0, 0, 7, 0)))
    unknown = status("r3", guarantee())
    expected = truth(15, 10, a=(15, 9, 150, 100), b=(4, 4, 40, 40), c=(0, 0, 7, 0))
    for order in ((one, other, unknown), (unknown, other, one)):
        assert joint(*order)["ground_truth"] == expected
    assert joint(unknown, status("r4", guarantee()))["ground_truth"] is None
    assert one["endpoints"]["digits"]["ground_truth"]["members"]["a"]["labelled"] == 10, "parts stay as they are"


def test_members_of_an_ensemble_have_shares_of_their_own() -> None:
    """Each is the share of queries that the member voted on: together they are more than 1."""

    def votes(**queries: int) -> dict[str, Any]:
        of = sum(queries.values()) and max(queries.values())
        return {m: {"queries": n, "share": n / of, "expected_accuracy": 0.8} for m, n in queries.items()}

    one = status("r1", guarantee(), answered=40, variants=votes(a=40, b=10))
    other = status("r2", guarantee(), answered=10, variants=votes(a=10, c=5))
    seen = joint(one, other)["variants"]
    assert {name: each["queries"] for name, each in seen.items()} == {"a": 50, "b": 10, "c": 5}
    assert {name: each["share"] for name, each in seen.items()} == pytest.approx({"a": 1.0, "b": 0.2, "c": 0.1})


def stage(queries: int, p95: float, **variants: int) -> dict[str, Any]:
    times = dict.fromkeys(("latency_ms", "queue_ms", "run_ms"), {"p95": p95} if queries else None)
    return {"queued": 1, "workers": 2, "queries": queries, "jobs": 3 * queries, "variants": variants, **times}


def test_stages_are_summed_with_the_times_of_the_worst() -> None:
    one = status("r1", guarantee(), stages={"read": stage(4, 10.0, a=4)})
    two = status("r2", guarantee(), stages={"read": stage(2, 30.0, a=1, b=1)})
    (read,) = joint(one, two)["stages"].values()
    assert (read["queued"], read["workers"], read["queries"], read["jobs"]) == (2, 4, 6, 18)
    assert read["variants"] == {"a": 5, "b": 1}
    assert read["run_ms"] == {"p95": 30.0}


def test_a_stage_that_one_router_has_not_run_has_the_times_of_the_others() -> None:
    one = status("r1", guarantee(), stages={"read": stage(0, 0.0)})
    two = status("r2", guarantee(), stages={"read": stage(2, 30.0, b=2)})
    assert joint(one, two)["stages"]["read"]["latency_ms"] == {"p95": 30.0}


def test_what_befell_workers_is_summed_and_the_newest_comes_first() -> None:
    statuses = []
    for number, router in enumerate(("r1", "r2")):
        events = WorkerEvents()
        events.on_event(f"{router}-w", WorkerEvent.JOINED, 1.0)
        events.on_event(f"{router}-w", WorkerEvent.HANGS, 5.0 + number)
        statuses.append({**status(router, guarantee()), "worker_events": events.to_record(10.0)})
    seen = together(statuses)["worker_events"]
    assert (seen["counts"]["joined"], seen["counts"]["does not answer"]) == (2, 2)
    assert seen["hanging_s"] == {"r1-w": 5.0, "r2-w": 4.0}
    assert [event["worker"] for event in seen["last"]][:2] == ["r2-w", "r1-w"]


def test_the_mean_batch_is_that_of_all_routers_that_answered_of_late() -> None:
    idle = status("r1", guarantee())
    one, other = (status(f"r{n}", guarantee(), answered=30 * n, mean_batch_rows=4.0 / n) for n in (1, 2))
    assert together([idle, one, other])["endpoints"]["digits"]["mean_batch_rows"] == pytest.approx(8 / 3)
    assert together([idle, idle])["endpoints"]["digits"]["mean_batch_rows"] is None

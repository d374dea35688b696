from dataclasses import replace

import orjson
import pytest

from serve_app.loadgen.record import Record, Run
from serve_app.loadgen.report import Report, summarise


def answered(
    intended_s: float, latency_ms: float, variant: str = "slow", accuracy: float = 0.9, correct: bool | None = None
) -> Record:
    done_s = intended_s + latency_ms / 1e3
    return Record(intended_s, intended_s, done_s, 200, variant, accuracy, True, correct, None, None)


def failed(intended_s: float, kind: str, text: str) -> Record:
    return Record(intended_s, intended_s, intended_s + 0.001, 0, None, None, None, None, kind, text)


def report(records: list[Record], duration_s: float = 2.0, slo_ms: float | None = 100.0) -> Report:
    return summarise(Run(tuple(records), len(records), duration_s, interrupted=False), slo_ms)


def test_late_answers_and_failures_both_violate_the_objective() -> None:
    made = report([answered(0.0, 50), answered(0.1, 150), answered(0.2, 99), failed(0.3, "timeout", "no answer")])
    assert made.total.violations == 2
    assert made.total.violations_pct == 50.0
    assert (made.total.ended, made.total.answered) == (4, 3)


def test_emulated_answers_are_counted() -> None:
    made = report([answered(0.0, 50), replace(answered(0.1, 50), emulated=True)])
    assert made.emulated == made.to_json()["emulated"] == 1


def test_without_an_objective_only_failures_violate() -> None:
    made = report([answered(0.0, 5000), failed(0.3, "timeout", "no answer")], slo_ms=None)
    assert made.total.violations == 1


def test_latency_is_over_successful_answers_only() -> None:
    made = report([*(answered(0.01 * ms, ms) for ms in range(1, 102)), failed(0.0, "saturated", "queue full")])
    assert made.total.latency_ms is not None
    assert made.total.latency_ms.mean == pytest.approx(51)
    assert made.total.latency_ms.p50 == pytest.approx(51)
    assert made.total.latency_ms.p95 == pytest.approx(96)
    assert made.total.latency_ms.p99 == pytest.approx(100)


def test_accuracy_is_over_labelled_answers_and_the_expected_one_over_all() -> None:
    made = report(
        [
            answered(0.0, 10, accuracy=0.8, correct=True),
            answered(0.1, 10, accuracy=0.9, correct=False),
            answered(0.2, 10, accuracy=0.9, correct=True),
            answered(0.3, 10, accuracy=1.0),
        ]
    )
    assert made.total.accuracy_pct == pytest.approx(200 / 3)
    assert made.total.expected_accuracy_pct == pytest.approx(90.0)


def test_rates_are_over_the_run_and_throughput_waits_for_the_last_answer() -> None:
    made = report([answered(0.0, 10), answered(1.9, 2100), failed(1.0, "timeout", "no answer")])
    assert made.offered_qps == pytest.approx(1.5)
    assert made.throughput_qps == pytest.approx(2 / 4.0)


def test_errors_are_counted_by_kind_with_the_first_message() -> None:
    made = report([failed(0.1, "timeout", "first"), failed(0.2, "lost", "gone"), failed(0.3, "timeout", "second")])
    assert {kind: (error.count, error.example) for kind, error in made.errors.items()} == {
        "timeout": (2, "first"),
        "lost": (1, "gone"),
    }


def test_slices_show_the_move_from_one_variant_to_another() -> None:
    slow = [answered(second + 0.1 * n, 50, "slow", 0.95) for second in (0, 1) for n in range(5)]
    fast = [answered(2 + 0.1 * n, 5, "fast", 0.8) for n in range(10)]
    slices = report(slow + fast, duration_s=3.0).slices
    assert [piece.start_s for piece in slices] == pytest.approx([0.1 * n for n in range(30)])
    made = summarise(Run(tuple(slow + fast), 20, 30.0, interrupted=False), 100.0)
    first, second, third, fourth = made.slices[:4]
    assert (first.rate_qps, second.rate_qps, third.rate_qps, fourth.rate_qps) == (5, 5, 10, 0)
    assert first.tally.share == {"slow": 1.0}
    assert third.tally.share == {"fast": 1.0}
    assert third.tally.expected_accuracy_pct == pytest.approx(80)
    assert third.tally.latency_ms is not None
    assert third.tally.latency_ms.p99 == pytest.approx(5)
    assert fourth.tally.latency_ms is None
    assert made.total.share == {"slow": 0.5, "fast": 0.5}


@pytest.mark.parametrize("duration_s", [5e-324, 1e-12, 0.25, 1.0, 7.3, 30.0, 291.7, 5000.0, 1e6])
def test_slices_cover_the_run_without_overlap(duration_s: float) -> None:
    made = report([answered(0.0, 1), answered(duration_s * 0.999, 1)], duration_s)
    assert 1 <= len(made.slices) <= 30
    for earlier, later in zip(made.slices, made.slices[1:], strict=False):
        assert later.start_s == pytest.approx(earlier.start_s + earlier.width_s)
    assert made.slices[-1].start_s + made.slices[-1].width_s == pytest.approx(duration_s)
    assert sum(piece.tally.ended for piece in made.slices) == 2


def test_unfinished_queries_are_told_apart() -> None:
    made = summarise(Run((answered(0.0, 10),), sent=4, duration_s=1.0, interrupted=True), 100.0)
    assert (made.unfinished, made.total.ended, made.offered_qps) == (3, 1, 4.0)


def test_a_run_of_nothing_has_no_numbers_but_a_report() -> None:
    made = summarise(Run((), 0, 0.0, interrupted=True), 100.0)
    assert made.total.latency_ms is None
    assert made.total.violations_pct is None
    orjson.dumps(made.to_json())


def test_the_json_form_is_plain_and_complete() -> None:
    made = report([answered(0.0, 50, correct=True), failed(0.1, "timeout", "no answer")])
    body = orjson.loads(orjson.dumps(made.to_json()))
    assert body["violations_pct"] == 50.0
    assert body["errors"] == {"timeout": {"count": 1, "example": "no answer"}}
    assert set(body["latency_ms"]) == {"mean", "p50", "p95", "p99"}
    assert body["slices"][0]["share"] == {"slow": 1.0}
    assert body["fell_behind"] is False

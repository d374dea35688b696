"""What a fault cost, by what came back of a load."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chaos.trial.bench import Bench
from chaos.trial.outcome import outcome, recovered_s
from chaos.trial.trial import Mark
from chaos_scene import bench_of, even, queries, sent
from serve_app.loadgen.client import WRONG_ANSWER
from serve_app.loadgen.record import Record

FAULT = [Mark(5.0, "killed", True)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_of([], tmp_path)


def told(bench: Bench, *records: Record) -> dict[str, object]:
    return outcome(bench, queries(*records), 0.0, 20.0, FAULT)


def test_every_query_is_counted_once(bench: Bench) -> None:
    found = told(
        bench,
        *even(4.0),
        sent(6.0, status=0, kind="connection_lost"),
        sent(7.0, status=503, kind="loading"),
        sent(8.0, status=404, kind="http_404"),
        sent(9.0, wait_s=10.0, status=0, kind="timeout"),
        sent(10.0, kind=WRONG_ANSWER),
        sent(11.0, wait_s=0.3),
    )
    assert (found["sent"], found["answered"], found["failed"], found["unanswered"]) == (46, 41, 4, 1)
    assert (found["duplicated"], found["late"], found["not_found"], found["refused"]) == (1, 1, 1, 1)
    assert found["refused_without_retry_after"] == 1
    assert found["longest_wait_ms"] == pytest.approx(300.0)


def test_what_was_on_its_way_when_the_fault_came_was_in_hand(bench: Bench) -> None:
    lost = {"status": 0, "kind": "connection_lost"}
    found = told(bench, sent(4.9, wait_s=0.2, **lost), sent(4.95, wait_s=0.01), sent(5.5, wait_s=0.2, **lost))  # type: ignore[arg-type]
    assert found["in_hand"] == 1
    assert found["failed_beyond_hand"] == 1


def test_accuracy_is_compared_with_the_best_answer_to_the_same_items(bench: Bench) -> None:
    answers = [sent(1.0 * n, right=n not in (3, 7, 8, 9)) for n in range(12)]
    found = told(bench, *answers)  # after 5 s: items 1 2 3 0 1 2 3; best is wrong on 3, answers are on 3, 0 and 1
    assert found["accuracy_loss_points"] == pytest.approx(100.0 * (5 - 4) / 7)


def test_without_labels_nothing_is_said_of_accuracy(bench: Bench) -> None:
    unknown = [replace(record, correct=None) for record in even(10.0)]
    assert told(bench, *unknown)["accuracy_loss_points"] is None


def test_a_service_has_recovered_when_five_good_windows_follow() -> None:
    at_s = np.arange(0.0, 20.0, 0.1)
    bad = (at_s >= 6.0) & (at_s < 8.0)
    assert recovered_s(at_s, bad, 5.0, 5.0, 20.0) == 3.0
    assert recovered_s(at_s, np.zeros(len(at_s), np.bool_), 5.0, 5.0, 20.0) == 0.0
    assert recovered_s(at_s, at_s >= 6.0, 5.0, 5.0, 20.0) is None
    assert recovered_s(at_s, (at_s >= 6.0) & (at_s < 16.5), 5.0, 5.0, 20.0) is None  # too short a peace to tell
    assert recovered_s(at_s, at_s >= 15.0, 5.0, 5.0, 20.0) == 0.0  # that is something else


def test_a_low_load_that_fails_as_a_whole_has_not_recovered() -> None:
    at_s = np.arange(0.5, 20.0, 1.0)
    assert recovered_s(at_s, at_s > 5.0, 5.0, 5.0, 20.0) is None
    assert recovered_s(at_s, (at_s > 5.0) & (at_s < 8.0), 5.0, 5.0, 20.0) == 3.0
    seldom_s = np.arange(0.5, 40.0, 7.0)  # five windows without a query between two
    assert recovered_s(seldom_s, seldom_s > 5.0, 5.0, 7.0, 40.0) is None
    assert recovered_s(seldom_s, seldom_s > 50.0, 5.0, 7.0, 40.0) == 0.0


def test_one_late_query_of_several_in_a_window_is_no_sign_of_a_fault() -> None:
    at_s = np.arange(0.125, 20.0, 0.25)
    late = (at_s > 5.0) & (np.arange(len(at_s)) % 4 == 0)
    assert recovered_s(at_s, late, 5.0, 5.0, 20.0) == 0.0
    assert recovered_s(at_s, late | np.roll(late, 1), 5.0, 5.0, 20.0) is None


def test_as_many_late_queries_as_before_the_fault_are_no_sign_of_it() -> None:
    at_s = np.arange(0.0, 20.0, 0.1)
    usual = np.arange(len(at_s)) % 4 == 0
    assert recovered_s(at_s, usual, 5.0, 5.0, 20.0) == 0.0


def test_series_add_up_to_the_figures(bench: Bench) -> None:
    found = told(bench, *even(12.0), sent(15.0, status=0, kind="connection_lost"))
    series = found["series"]
    assert isinstance(series, dict)
    assert sum(series["sent"]) == found["sent"]
    assert sum(series["failed"]) == found["failed"]
    assert sum(series["right"]) == found["answered"]

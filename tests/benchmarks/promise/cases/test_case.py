"""Cases: which seconds count, what is said of recovery, and medians over rounds."""

from dataclasses import replace

import pytest

from benchmarks.promise.cases.case import judge, over_rounds, said_kept_again_s
from benchmarks.promise.cases.conditions import CONDITIONS
from benchmarks.promise.cases.timeline import BEFORE_CHANGE_S, SETTLING_S, Timeline
from promise_scene import ENDPOINT, case, snapshot, violating

BEGAN_S, LOAD_QPS = 200.0, 100.0


def test_the_seconds_after_every_change_do_not_count() -> None:
    slower = Timeline.of(CONDITIONS["slower_2"], 12.0)
    late = [100] * 5 + [0] * 3 + [100] * 5 + [0] * 7
    seen = judge(
        ("slower_2", "ramsis", 0.6),
        LOAD_QPS,
        slower,
        BEGAN_S,
        violating(late, BEGAN_S),
        [],
        endpoint=ENDPOINT,
        slo_ms=100.0,
        lag_p99_ms=1.0,
        machine_speed=0.5,
        times_played=2,
    )
    assert (seen.judged.violations_server_pct, seen.judged.queries) == (0.0, 1000)
    assert seen.whole.violations_server_pct == pytest.approx(50.0)
    assert (seen.kept_again_s, seen.machine_speed, seen.times_played) == (5.0, 0.5, 2)


def test_an_even_load_changes_at_its_start_and_a_worker_in_mid_run() -> None:
    even, slower = Timeline.of(CONDITIONS["as_is"], 12.0), Timeline.of(CONDITIONS["slower_1_5"], 12.0)
    assert (even.change_s, even.duration_s, even.judged_s) == (0.0, 12.0, ((SETTLING_S, 12.0),))
    assert (slower.change_s, slower.duration_s) == (BEFORE_CHANGE_S, BEFORE_CHANGE_S + 12.0)


@pytest.mark.parametrize(
    ("words", "again_s"),
    [
        (["yes", "yes"], 0.0),
        (["too early", "no", "no", "yes"], 3.0),
        (["no", "too early", "yes"], 1.0),
        (["yes", "no"], None),
        ([None, None], None),
        ([], None),
    ],
)
def test_a_service_says_that_it_keeps_its_promise_again(words: list[str | None], again_s: float | None) -> None:
    looks = [snapshot(BEGAN_S + second, kept=word) for second, word in enumerate(words)]
    before = snapshot(BEGAN_S - 1.0, kept="no")
    assert said_kept_again_s([before, *looks], ENDPOINT, BEGAN_S, BEGAN_S + 10.0) == again_s


def test_rounds_become_medians_and_never_recovering_counts_as_worst() -> None:
    rounds = [
        case("ramsis", 1.0, 97.0, kept_again_s=2.0),
        case("ramsis", 3.0, 95.0, kept_again_s=4.0),
        case("ramsis", 2.0, 96.0, kept_again_s=None),
    ]
    median = over_rounds(rounds)
    assert (median.judged.violations_server_pct, median.judged.variant_accuracy_pct) == (2.0, 96.0)
    assert median.key == rounds[0].key
    assert over_rounds(rounds[1:]).kept_again_s is None
    assert over_rounds([rounds[0]]) == rounds[0]


def test_a_variant_that_did_not_answer_in_a_round_had_no_share_of_it() -> None:
    first, second = (case("ramsis", 0.0) for _ in range(2))
    second = replace(second, judged=replace(second.judged, share_pct={"other": 100.0}))
    assert over_rounds([first, second]).judged.share_pct == {"good": 50.0, "other": 50.0}

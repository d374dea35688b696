"""Loads, goals and the simulated side of the live comparison of RAMSIS."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.progress import Progress

from benchmarks.live_ramsis.figures import Outcome, Row, broken, median_of, outcome, spread_of
from benchmarks.live_ramsis.goals import goals_of
from benchmarks.live_ramsis.latency import MeasuredLatency
from benchmarks.live_ramsis.live import Played
from benchmarks.live_ramsis.loads import CONSTANT, TRACE, capacity_qps, cases, excerpt_of
from benchmarks.live_ramsis.scene import ENDPOINT, Scene
from benchmarks.live_ramsis.simulated import (
    SEEDS,
    loads_between,
    make_tables,
    plan_of,
    simulate,
)
from benchmarks.live_ramsis.ways import Ways
from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.ramsis.tables.work import NEAR
from serve_app.testing.queries import Queries

MEAN_MS = {"small": (60.0, 5.0), "large": (90.0, 40.0)}
PATH = MeasuredLatency(path_s=0.002, path_tail_s=0.004, run_factor=1.0, run_tail=1.0, typical_run_s=0.09)
"""Profiles of this scene have runs that hardly vary."""
WAYS = Ways(np.zeros(1), np.array([0.002]))
ESTIMATE = LatencyEstimate(path_s=0.002, path_tail_s=0.004, typical_run_s=0.09)


def scene(folder: Path, workers: int = 2) -> Scene:
    profiled = {}
    for name, (accuracy_pct, ms) in MEAN_MS.items():
        sizes = {rows: ms * (0.5 + 0.5 * rows) for rows in (1, 4, 32)}
        by_batch = {rows: BatchLatency(9, own, 0.05 * own, own, own, own, own) for rows, own in sizes.items()}
        profiled[name] = ProfiledVariant(accuracy_pct, LatencyProfile("cpu", by_batch))
    write_profiles(folder / "given.csv", profiled)
    made = Scene(folder / "given.csv", workers, published_slo_ms=200.0, seed=3)
    made.write(folder)
    return made


def queries(late: list[bool], accuracy: float = 0.9, span_s: float = 10.0) -> Queries:
    count = len(late)
    at_s = np.linspace(0.0, span_s, count, endpoint=False)
    ones = np.full(count, accuracy)
    none = np.zeros(count, dtype=np.bool_)
    names = np.full(count, "large")
    status, rows, run_s = np.full(count, 200), np.ones(count, dtype=np.int64), np.full(count, 0.09)
    return Queries(
        at_s, at_s, at_s + 0.01, none, np.array(late), ones, ones, names, status, names, none, run_s, 0.01 * ones, rows
    )


def row(system: str = "accord", live: float = 80.0, simulated: float = 80.0, late: float = 0.0, **other: object) -> Row:
    made = Row(
        system,
        CONSTANT,
        0.6,
        100.0,
        1000,
        Outcome(live, late),
        late,
        Outcome(simulated, 0.0),
        None,
        1.0,
        (),
        0.1,
        {"path_s": 0.003},
        {},
    )
    return replace(made, **other)


def test_workers_bear_their_best_batch_of_half_the_objective_again_and_again(tmp_path: Path) -> None:
    made = scene(tmp_path)
    ms = [5.0 * (0.5 + 0.5 * rows) for rows in range(1, 33)]
    best = max(rows / (own + 4.0) for rows, own in enumerate(ms, start=1) if own <= 100.0)
    assert capacity_qps(made) == pytest.approx(2 * 1e3 * best, rel=0.05)


def test_every_share_is_played_at_its_load_the_lowest_first(tmp_path: Path) -> None:
    made = scene(tmp_path)
    found = cases(made, None, (0.2, 0.9), (CONSTANT, TRACE), seconds=5.0, warm_s=2.0)
    assert [(case.trace, case.share) for case in found] == [(t, s) for s in (0.2, 0.9) for t in (CONSTANT, TRACE)]
    for case in found:
        lowest, highest = case.span_qps
        assert highest == pytest.approx(case.share * capacity_qps(made)), "the highest rate is the share"
        assert lowest <= case.load_qps <= highest
        times_s = case.arrivals_s()
        assert np.all(np.diff(times_s) >= 0)
        assert times_s[-1] < case.duration_s == 7.0
        counted = np.count_nonzero(times_s >= case.warm_s)
        assert counted == pytest.approx(case.load_qps * 5.0, abs=5 * (case.load_qps * 5.0) ** 0.5)
        assert np.array_equal(times_s, case.arrivals_s()), "the same again"


def test_an_excerpt_is_where_a_trace_is_busiest() -> None:
    steps_qps = np.array([1.0, 5.0, 9.0, 8.0, 2.0])
    assert excerpt_of(steps_qps, 2).tolist() == [9.0, 8.0]
    assert len(excerpt_of(steps_qps, 12)) == 12, "a shorter trace begins anew"
    with pytest.raises(ConfigError, match="no load"):
        excerpt_of(np.zeros(3), 2)


def test_latency_is_what_answers_say_each_batch_counting_once(tmp_path: Path) -> None:
    profiles = {name: each.profile for name, each in scene(tmp_path).profiled.items()}
    rows = np.repeat([1, 4, 4, 0], [1, 4, 4, 3])
    profiled_s = np.array([profiles["large"].p95_s(int(each)) if each else np.nan for each in rows])
    run_s = profiled_s * np.repeat([1.0, 1.0, 1.3, np.nan], [1, 4, 4, 3])
    way_s = np.repeat([0.001, 0.003, 0.005, np.nan], [1, 4, 4, 3])
    seen = replace(queries([False] * len(rows)), run_s=run_s, way_s=way_s, rows=rows)
    one_s, four_s = (profiles["large"].p95_s(each) for each in (1, 4))
    factor = (one_s + 2.3 * four_s) / (one_s + 2 * four_s)
    found = MeasuredLatency.of(seen, profiles)
    assert found.run_factor == pytest.approx(factor)
    assert found.run_tail == pytest.approx(1.3 / factor)
    assert (found.path_s, found.path_tail_s) == (pytest.approx(0.003), 0.005)
    assert found.typical_run_s == pytest.approx((one_s + 2 * four_s) / 3)
    with pytest.raises(RuntimeError, match="no answer says"):
        MeasuredLatency.of(seen.where(rows == 0), profiles)


def test_tables_near_the_chosen_loads_cover_all_between() -> None:
    chosen = loads_between(100.0, 300.0)
    low, high = NEAR
    for load_qps in np.linspace(90.0, 300.0, 50):
        assert any(low * each <= load_qps <= high * each for each in chosen)


@pytest.mark.parametrize(("load_qps", "variant"), [(5.0, "large"), (150.0, "small")])
def test_a_policy_by_load_is_simulated_with_its_rung(tmp_path: Path, load_qps: float, variant: str) -> None:
    made = scene(tmp_path)
    case = cases(made, None, (load_qps / capacity_qps(made),), (CONSTANT,), seconds=20.0, warm_s=0.0)[0]
    sent_s = case.arrivals_s()
    played = Played(case, sent_s, 0.0, queries([False]), PATH, WAYS, [ESTIMATE], {}, {})
    with Progress() as progress:
        found = simulate(made, "jellyfish_plus", [played], tmp_path, progress)
    assert len(found) == SEEDS
    seen = median_of([outcome(each.in_time, each.accuracy) for each in found])
    assert seen.accuracy_pct == pytest.approx(MEAN_MS[variant][0], abs=1.5)
    assert seen.violation_pct < 2.0


def test_what_feedback_takes_of_the_slack_is_recorded(tmp_path: Path) -> None:
    made = scene(tmp_path, workers=1)
    light, heavy = cases(made, None, (0.1, 1.5), (CONSTANT,), seconds=8.0, warm_s=0.0)
    begin_s = light.duration_s + 1.0
    session = [
        Played(light, light.arrivals_s(), 0.0, queries([False]), PATH, WAYS, [ESTIMATE], {}, {}),
        Played(heavy, heavy.arrivals_s() + begin_s, begin_s, queries([False]), PATH, WAYS, [ESTIMATE], {}, {}),
    ]
    with Progress() as progress:
        found = simulate(made, "jellyfish_plus", session, tmp_path, progress)
    for each in found:
        assert each.slack_shares[0] == 1.0
        assert each.slack_shares[1] < 0.8, "half as much again as can be borne is late"


def test_decision_tables_are_simulated_as_a_router_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))
    made = scene(tmp_path, workers=1)
    case = cases(made, None, (0.1,), (CONSTANT,), seconds=20.0, warm_s=0.0)[0]
    played = Played(case, case.arrivals_s(), 0.0, queries([False]), PATH, WAYS, [ESTIMATE], {}, {})
    with Progress() as progress:
        by_tables = simulate(made, "ramsis", [played], tmp_path, progress)
        by_load = simulate(made, "jellyfish_plus", [played], tmp_path, progress)
    ours, theirs = (
        median_of([outcome(each.in_time, each.accuracy) for each in found]) for found in (by_tables, by_load)
    )
    assert ours.accuracy_pct is not None
    assert theirs.accuracy_pct is not None
    assert ours.accuracy_pct >= theirs.accuracy_pct
    assert ours.violation_pct < 5.0


def test_tables_are_there_for_every_look_however_many_levels_a_session_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))
    made = scene(tmp_path, workers=1)
    light, heavy = cases(made, None, (0.1, 0.2), (CONSTANT,), seconds=5.0, warm_s=0.0)
    ways = [replace(ESTIMATE, path_s=0.002 * 1.2**n, path_tail_s=0.004 * 1.2**n) for n in range(8)]
    session = [
        Played(case, case.arrivals_s(), 0.0, queries([False]), PATH, WAYS, looks, {}, {})
        for case, looks in ((light, ways), (heavy, ways[:1]))
    ]
    with Progress() as progress:
        grids = make_tables(made, "ramsis", session, tmp_path, progress)
    for case, looks in ((light, ways), (heavy, ways[:1])):
        for look in looks:
            reading = grids.read(look, 1, case.load_qps)
            assert reading is not None
            assert reading.exact
            assert reading.table.load_qps <= 1.3 * case.load_qps * reading.mean


def test_the_simulated_plan_is_that_of_the_live_router(tmp_path: Path) -> None:
    made = scene(tmp_path)
    plan, profiles = plan_of(made, "accord", tmp_path)
    assert plan.name == ENDPOINT
    assert {each.variant for each in plan.stage.candidates["cpu"]} == profiles.keys() == MEAN_MS.keys()


def test_a_promise_breaks_only_where_chance_does_not_explain_it() -> None:
    few = [number in (3, 40) for number in range(100)]
    assert broken(queries(few), None, 0.01) == ()
    many = [number % 4 == 0 for number in range(400)]
    assert broken(queries(many), None, 0.01) == ("violations",)
    assert broken(queries(many), None, 0.5) == ()
    assert broken(queries([False] * 100), Outcome(95.0, 1.0), 0.01) == ("accuracy",)
    assert broken(queries([False] * 100), Outcome(85.0, 1.0), 0.01) == ()


def test_goals_are_met_where_live_is_simulated_and_accord_is_ahead() -> None:
    rows = [row(), row("model_switching", 79.0, 79.0), row("jellyfish_plus", 78.0, 78.0)]
    assert all(goal["met"] for goal in goals_of(rows).values())
    assert goals_of(rows)["accord_above_model_switching"]["live_points"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changed", "goal"),
    [
        (row(live=79.4), "live_is_simulated_up_to_85_pct"),
        (row(late=1.2), "live_is_simulated_up_to_85_pct"),
        (row(late=2.2, share=0.95), "live_is_simulated_beyond"),
        (row(broken=("violations",)), "no_promise_broken"),
        (row(live=78.9, simulated=80.0), "accord_above_model_switching"),
    ],
)
def test_a_goal_that_is_missed_is_said(changed: Row, goal: str) -> None:
    rows = [changed, row("model_switching", 79.0, 79.0, share=changed.share)]
    assert not goals_of(rows)[goal]["met"]


def test_twice_as_much_is_allowed_beyond_85_percent() -> None:
    goals = goals_of([row(live=79.2, late=1.8, share=0.95)])
    assert goals["live_is_simulated_beyond"]["met"]
    assert "live_is_simulated_up_to_85_pct" not in goals


def test_what_is_simulated_are_medians_with_their_spread() -> None:
    outcomes = [Outcome(80.0, 1.0), Outcome(None, 100.0), Outcome(70.0, 2.0), Outcome(78.0, 0.0), Outcome(79.0, 5.0)]
    assert median_of(outcomes) == Outcome(78.5, 2.0)
    assert spread_of(outcomes) == {"accuracy_pct": (70.0, 80.0), "violation_pct": (0.0, 100.0)}
    assert median_of([Outcome(None, 100.0)]) == Outcome(None, 100.0)
    assert spread_of([Outcome(None, 100.0)]) == {"violation_pct": (100.0, 100.0)}


def test_slow_motion_is_the_same_workload_at_a_part_of_the_load(tmp_path: Path) -> None:
    made = scene(tmp_path)
    slow = replace(made, slower=4.0)
    assert slow.slo_ms == 4.0 * made.slo_ms
    assert slow.profiled["small"].profile.p95_s(4) == pytest.approx(4.0 * made.profiled["small"].profile.p95_s(4))
    assert capacity_qps(made) / 4.0 < capacity_qps(slow) < capacity_qps(made) / 2.0, "the way is shorter beside a run"

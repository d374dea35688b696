"""The comparison on a small task with names of its own."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from benchmarks.ramsis import __main__ as ramsis
from benchmarks.ramsis import workloads
from benchmarks.ramsis.summary import increase, workers_saved
from benchmarks.ramsis.sweep import Outcome, Point, play
from benchmarks.ramsis.systems import FORMULATIONS, ResponseJob, TableJob
from benchmarks.ramsis.task import Task, read_front
from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles

Run = Callable[..., str]
"""Runs the benchmark with arguments and gives what it prints."""

SYSTEMS = (
    "ramsis",
    "jellyfish_plus",
    "model_switching",
    "slack_fit",
    "ramsis_slack",
    "ramsis_grouped",
    "accord_single",
    "accord",
)
MEAN_MS = {
    "bert tiny": (70.0, 4.0),
    "bert-base": (84.0, 30.0),
    "dominated": (65.0, 12.0),
    "out/of reach": (90.0, 300.0),
}


@contextmanager
def one_thread() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    variants = {
        name: ProfiledVariant(
            accuracy_pct,
            LatencyProfile("any", {n: BatchLatency(9, *[base_ms * (1 + 0.5 * (n - 1))] * 6) for n in (1, 2, 4, 8)}),
        )
        for name, (accuracy_pct, base_ms) in MEAN_MS.items()
    }
    write_profiles(tmp_path / "texts.csv", variants)
    return tmp_path / "texts.csv"


@pytest.fixture
def run(tmp_path: Path, profiles: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(ramsis, "processes", one_thread)
    monkeypatch.setattr(workloads, "CONSTANT_S", 3.0)

    def with_arguments(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["ramsis", "--profiles", str(profiles), "--slo-ms", "100", *arguments])
        ramsis.main()
        return capsys.readouterr().out

    return with_arguments


def test_an_objective_that_no_variant_meets_is_refused_before_anything_is_computed(run: Run) -> None:
    with pytest.raises(SystemExit, match=r"^--slo-ms 1: the fastest variant, .*, takes .* ms; give more$"):
        run("--slo-ms", "150,1", "--workers", "2", "--loads", "10")


def test_constant_loads_are_compared_for_any_names(run: Run, tmp_path: Path) -> None:
    plot = tmp_path / "plot.png"
    given = run("--workers", "2", "--loads", "10,60", "--repeats", "2", "--json", "--plot", str(plot))
    body = orjson.loads(given)
    assert body["variants"] == ["bert tiny", "bert-base", "out/of reach"]
    assert [(point["workers"], point["load_qps"]) for point in body["points"]] == [(2, 10.0), (2, 60.0)]
    for point in body["points"]:
        for system in SYSTEMS:
            assert 70.0 <= point[system]["accuracy_pct"] <= 84.0 + 1e-9
            assert 0.0 <= point[system]["violation_pct"] <= point[system]["batch_violation_pct"] <= 100.0
    light = body["points"][0]
    assert light["ramsis"]["accuracy_pct"] >= light["jellyfish_plus"]["accuracy_pct"]
    for name in ("jellyfish_plus", "model_switching"):
        more = [point["ramsis"]["accuracy_pct"] - point[name]["accuracy_pct"] for point in body["points"]]
        assert body["increase_pct"][name]["average"] == pytest.approx(sum(more) / 2)
        assert body["increase_pct"][name]["highest"] == pytest.approx(max(more))
    assert plot.read_bytes().startswith(b"\x89PNG")
    again = orjson.loads(run("--workers", "2", "--loads", "10,60", "--repeats", "2", "--json"))
    assert again.pop("machine")["loop_s"] > 0.0
    assert again == {key: value for key, value in body.items() if key != "machine"}


def test_a_load_trace_is_played_on_several_numbers_of_workers(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "loads.csv"
    trace.write_text("time_s,load_qps\n0,10\n2,40\n")
    body = orjson.loads(run("--workers", "1,2", "--trace", str(trace), "--json"))
    assert [(point["workers"], point["load_qps"]) for point in body["points"]] == [(1, 25.0), (2, 25.0)]
    text = run("--workers", "1", "--trace", str(trace))
    more = body["accord_increase_pct"]["model_switching"]
    assert "Jellyfish+" in text
    assert "accord over model_switching: " in text
    assert more["highest"] >= more["average"]


def test_a_missing_trace_or_profile_file_is_refused_in_words(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no trace at"):
        run("--trace", "twitter", "--trace-file", str(tmp_path / "none.csv"))
    with pytest.raises(SystemExit, match="cannot read trace"):
        run("--trace", str(tmp_path / "none.csv"))
    with pytest.raises(SystemExit, match=r"no profiles at .*none\.csv; name the file with --profiles"):
        run("--profiles", str(tmp_path / "none.csv"))


def test_more_variants_than_a_table_holds_are_refused_in_words(run: Run, tmp_path: Path) -> None:
    rising = {
        f"v{n:03}": ProfiledVariant(50.0 + n / 10, LatencyProfile("any", {1: BatchLatency(9, *[1.0 + n / 100] * 6)}))
        for n in range(251)
    }
    write_profiles(tmp_path / "many.csv", rising)
    with pytest.raises(SystemExit, match=r"many\.csv has 251 variants on the front .* tables hold 250"):
        run("--profiles", str(tmp_path / "many.csv"))


def test_more_queries_than_can_be_played_are_refused_before_anything_is_made(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"3e\+12 queries in 3 s, and one run has at most 100000000; lower the rate"):
        run("--loads", "10,1e12")
    trace = tmp_path / "loads.csv"
    trace.write_text("time_s,load_qps\n0,3000\n1000000,40\n")
    with pytest.raises(SystemExit, match=r"queries in 2e\+06 s, and one run has at most"):
        run("--trace", str(trace))


def test_variants_that_another_beats_in_accuracy_and_latency_do_not_enter(profiles: Path) -> None:
    front = read_front(profiles)
    assert [candidate.variant for candidate in front] == ["bert tiny", "bert-base", "out/of reach"]
    assert front[0].latency_s[4] == pytest.approx(0.010)


def test_a_known_load_is_profiled_itself_and_has_its_own_table() -> None:
    workload = workloads.constant(130.0, highest_qps=400.0)
    assert workload.tables_qps == [130.0]
    assert 130.0 in workload.profiled_qps
    assert workload.profiled_qps[-1] == 400.0
    assert workload.monitor().load_qps(3.0) == 130.0


class Recording(ThreadPoolExecutor):
    """Keeps the jobs it was given."""

    def __init__(self) -> None:
        super().__init__(1)
        self.jobs: list[Any] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.jobs.append(fn)
        return super().submit(fn, *args, **kwargs)


def test_every_load_of_a_sweep_is_profiled(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "CONSTANT_S", 1.0)
    task = Task(read_front(profiles), 0.1, 2)
    cases = [(task, workloads.constant(load_qps, highest_qps=60.0)) for load_qps in (7.0, 60.0)]
    with Recording() as executor:
        play(cases, [1], executor, None)
    (job,) = [job for job in executor.jobs if isinstance(job, ResponseJob)]
    assert job.loads_qps == tuple(sorted({7.0, *(1.5 * number for number in range(1, 41))}))


def test_twitter_lasts_five_minutes_and_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "short.csv"
    file.write_text("time_s,load_qps\n0,100\n80,3905\n")
    workload = workloads.twitter(file)
    assert workload.duration_s == 300.0
    assert workload.load_qps == pytest.approx((160 * 100 + 140 * 3905) / 300)
    assert workload.highest_qps == 4000.0
    assert workload.tables_qps == [200.0 * number for number in range(1, 21)]
    assert workload.profiled_qps == [100.0 * number for number in range(1, 41)]


def test_recorded_instants_are_the_same_under_every_seed(tmp_path: Path) -> None:
    file = tmp_path / "instants.csv"
    file.write_text("arrival_s\n0.5\n1.2\n1.3\n4\n")
    workload = workloads.recorded(file)
    assert workload.arrivals_s(1).tolist() == workload.arrivals_s(2).tolist() == [0.5, 1.2, 1.3, 4.0]
    assert (workload.load_qps, workload.highest_qps) == (1.0, 2.0)
    with pytest.raises(ConfigError):
        workloads.recorded(tmp_path / "none.csv")


def test_increases_count_only_points_at_which_both_answered_in_time() -> None:
    def point(ours: float | None, theirs: float | None) -> Point:
        outcomes = {"ours": Outcome(ours, 0.0, ours, 0.0), "theirs": Outcome(theirs, 0.0, theirs, 0.0)}
        return Point(0.1, 1, 1.0, outcomes)

    points = [point(80.0, 75.0), point(70.0, 72.0), point(70.5, 70.0), point(None, 60.0)]
    more = increase(points, "ours", "theirs")
    assert more == {"average": pytest.approx(3.5 / 3), "median": 0.5, "lowest": -2.0, "highest": 5.0}
    assert increase(points[3:], "ours", "theirs") == dict.fromkeys(more)


def test_workers_are_saved_where_fewer_are_as_accurate() -> None:
    def point(workers: int, ours: tuple[float, float], theirs: tuple[float, float], slo_s: float = 0.1) -> Point:
        outcomes = {
            name: Outcome(accuracy, violations, accuracy, violations)
            for name, (accuracy, violations) in (("ours", ours), ("theirs", theirs))
        }
        return Point(slo_s, workers, 1.0, outcomes)

    points = [
        point(20, (79.0, 9.0), (60.0, 9.0)),  # too many violations of both
        point(40, (78.0, 1.0), (70.0, 1.0)),  # as few workers are enough for that
        point(80, (80.0, 1.0), (77.0, 1.0)),  # 40 are
        point(100, (80.0, 1.0), (81.0, 1.0)),  # nobody is as accurate
        point(20, (99.0, 0.0), (60.0, 9.0), slo_s=0.3),  # another objective
    ]
    assert workers_saved(points, "ours", "theirs") == {"average": 25.0, "median": 25.0, "lowest": 0.0, "highest": 50.0}
    assert set(workers_saved(points[:1], "ours", "theirs").values()) == {None}


def test_parts_of_ours_have_tables_of_their_own(profiles: Path) -> None:
    task = Task(read_front(profiles), 0.1037, 4)  # its hundredths are no latencies
    tables = {system: TableJob(task, system, 150.0, None)() for system in FORMULATIONS}
    assert tables["accord"].group > 1
    assert tables["ramsis_grouped"].group == tables["accord"].group
    assert [tables[name].group for name in ("ramsis", "ramsis_slack", "accord_single")] == [1, 1, 1]
    assert (tables["ramsis_grouped"].variant == tables["ramsis"].variant).all()
    coarse, fine = ({round(float(step), 8) for step in tables[name].slack_s} for name in ("ramsis", "ramsis_slack"))
    assert coarse < fine
    assert tables["accord_single"].expected_accuracy < tables["accord"].expected_accuracy


def test_latency_may_be_random(run: Run) -> None:
    given = ("--workers", "2", "--loads", "40", "--repeats", "1", "--latency", "random", "--json")
    body, again = (orjson.loads(run(*given)) for _ in range(2))
    assert body["latency"] == "random"
    assert body["points"] == again["points"]
    assert all(0.0 <= body["points"][0][system]["violation_pct"] <= 100.0 for system in SYSTEMS)
    planned = orjson.loads(run(*given[:-3], "--json"))
    assert planned["points"] != body["points"]


def test_every_objective_has_its_points(run: Run, tmp_path: Path) -> None:
    plot = tmp_path / "plot.png"
    given = ("--workers", "1,2", "--loads", "20", "--repeats", "1", "--slo-ms", "80,200", "--plot", str(plot))
    body = orjson.loads(run(*given, "--json"))
    points = [(point["slo_ms"], point["workers"]) for point in body["points"]]
    assert points == [(pytest.approx(slo_ms), workers) for slo_ms in (80.0, 200.0) for workers in (1, 2)]
    assert body["slo_ms"] == [80.0, 200.0]
    assert body["workers_saved_pct"]["accord"]["jellyfish_plus"].keys() == {"average", "median", "lowest", "highest"}
    assert plot.read_bytes().startswith(b"\x89PNG")

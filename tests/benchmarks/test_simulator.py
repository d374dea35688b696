"""Files that the benchmark of the simulator cannot use, and the shape of its figures."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from benchmarks.simulator import __main__ as simulator
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles


@contextmanager
def one_thread() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., bytes]:
    """The benchmark where the files that it takes by default are two small ones; gives what it prints."""
    by_batch = {n: BatchLatency(9, *[10.0 * n] * 6) for n in (1, 2)}
    write_profiles(tmp_path / "profiles.csv", {"a": ProfiledVariant(70.0, LatencyProfile("any", by_batch))})
    (tmp_path / "trace.csv").write_text("time_s,load_qps\n0,20\n2,40\n")
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(simulator, "PROFILES_FILE", tmp_path / "profiles.csv")
    monkeypatch.setattr(simulator, "TWITTER_FILE", tmp_path / "trace.csv")
    monkeypatch.setattr(simulator, "LOADS_QPS", (10.0,))
    monkeypatch.setattr(simulator, "SECONDS", 2.0)
    monkeypatch.setattr(simulator, "processes", one_thread)

    def with_arguments(*arguments: str) -> bytes:
        monkeypatch.setattr(sys, "argv", ["simulator", *arguments])
        simulator.main()
        return capsys.readouterr().out.encode()

    return with_arguments


def test_it_needs_no_option_where_its_files_are(run: Callable[..., bytes]) -> None:
    figures = orjson.loads(run("--json", "--workers", "2", "--repeats", "1"))
    assert figures["queries_per_s"] * figures["twitter_2_workers_s"] == pytest.approx(figures["queries"])
    assert [at_load["load_qps"] for at_load in figures["by_load"]] == [10.0]


def test_the_report_of_the_trace_is_left_as_json_and_picture(run: Callable[..., bytes], tmp_path: Path) -> None:
    folder = tmp_path / "report"
    figures = orjson.loads(run("--json", "--workers", "2", "--repeats", "1", "--report", str(folder)))
    report = orjson.loads((folder / "report.json").read_bytes())
    assert report["endpoints"]["image"]["queries"] == figures["queries"]
    assert (folder / "image.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_file_is_refused_with_the_option(run: Callable[..., bytes], tmp_path: Path) -> None:
    missing = str(tmp_path / "none.csv")
    for option, what in (("--profiles", "profiles"), ("--trace", "trace")):
        with pytest.raises(SystemExit, match=rf"no {what} at {missing}; name the file with {option}"):
            run(option, missing)


def test_a_wrong_file_is_refused_in_one_line(run: Callable[..., bytes], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"trace\.csv, line 1: the header is"):
        run("--profiles", str(tmp_path / "trace.csv"))
    with pytest.raises(SystemExit, match=r"profiles\.csv has columns"):
        run("--trace", str(tmp_path / "profiles.csv"))

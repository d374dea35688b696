"""What counts as growth, on tracks of processes and on a real one that opens files."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.soak.growth import GROWTH_MIB, LEAKED_FILES, MIB, GrowthWatch, Track, ends, judged_s


def watch_of(memory_mib: list[float], files: list[int]) -> GrowthWatch:
    watch = GrowthWatch(list)
    at_s = [10.0 * n for n in range(len(files))]
    watch.tracks[7, 0.0] = Track("worker", False, at_s, [int(each * MIB) for each in memory_mib], files)
    return watch


def test_the_warm_up_does_not_count() -> None:
    (told,) = watch_of([50, 100, 150, 200, 200, 200, 200, 200, 200, 200], [20] * 10).figures(30.0, 40.0)
    assert told["growth"] == 0.0
    assert not told["grew"]


@pytest.mark.parametrize(("last_mib", "grew"), [(209, False), (203, False), (230, True)])
def test_growth_is_more_than_a_part_and_more_than_an_allocator_keeps(last_mib: float, grew: bool) -> None:
    (told,) = watch_of([200.0] * 5 + [last_mib] * 3, [20] * 8).figures(0.0, 40.0)
    assert told["grew"] is grew
    assert told["growth"] == pytest.approx(last_mib / 200 - 1)


def test_a_small_process_may_grow_by_what_an_allocator_keeps() -> None:
    (told,) = watch_of([20.0] * 5 + [20.0 + GROWTH_MIB - 1] * 3, [20] * 8).figures(0.0, 40.0)
    assert not told["grew"]


def test_files_that_stay_open_are_a_leak() -> None:
    (told,) = watch_of([50] * 8, [20, 20, 20, 25, 30, 35, 31 + LEAKED_FILES, 31 + LEAKED_FILES]).figures(0.0, 40.0)
    assert told["leaked_files"]


def test_a_process_that_lived_too_short_says_nothing() -> None:
    assert watch_of([50] * 4, [20] * 4).figures(0.0, 60.0) == []


def test_a_short_soak_judges_no_proxy_that_was_replaced_in_it() -> None:
    assert judged_s(1800.0) == (240.0, 120.0)
    assert judged_s(120.0) == (30.0, 45.0)
    begins = [20, 25, 30, 45, 60, 60, 60]  # clients connect: 60 s of samples, 30 of them after the warm-up
    assert watch_of([50.0] * 7, begins).figures(*judged_s(120.0)) == []
    whole = [20, 25, 30, 45, 60, 60, 60, 60, 60, 60, 60, 80]
    assert [told["leaked_files"] for told in watch_of([50.0] * 12, whole).figures(*judged_s(120.0))] == [True]


def test_the_largest_processes_are_named_short_lives_included() -> None:
    watch = watch_of([50] * 8, [20] * 8)
    watch.tracks[9, 0.0] = Track("trainer", False, [30.0, 35.0], [300 * MIB, 700 * MIB], [8, 8])
    first, second = watch.largest(begin_s=5.0)
    assert first == {"pid": 9, "process": "trainer", "peak_mib": 700.0, "peak_at_s": 30.0, "seen_s": 5.0}
    assert (second["process"], second["peak_mib"]) == ("worker", 50.0)


def test_samples_are_of_processes_that_are_there(tmp_path: Path) -> None:
    own = psutil.Process()
    watch = GrowthWatch(lambda: [own])
    watch.look()
    kept = [(tmp_path / f"{n}").open("w") for n in range(5)]
    watch.look()
    for file in kept:
        file.close()
    (track,) = watch.tracks.values()
    assert track.name
    assert not track.only_watches
    assert track.files[1] - track.files[0] == 5
    assert min(track.memory_bytes) > MIB
    assert track.at_s[0] <= track.at_s[1] <= time.monotonic()


@pytest.mark.parametrize(
    ("script", "only_watches"), [("log_monitor.py", True), ("trainer.py", False)], ids=["Ray's log monitor", "a script"]
)
def test_a_script_has_its_own_name_and_what_only_watches_is_known(
    tmp_path: Path, script: str, only_watches: bool
) -> None:
    path = tmp_path / script
    path.write_text("input()", encoding="utf-8")
    with subprocess.Popen([sys.executable, path], stdin=subprocess.PIPE) as process:
        watch = GrowthWatch(lambda: [psutil.Process(process.pid)])
        until_named(watch, script)
        process.kill()
    (track,) = watch.tracks.values()
    assert track.only_watches is only_watches


def until_named(watch: GrowthWatch, name: str) -> None:
    """A process has its own command line only after exec."""
    ends_s = time.monotonic() + 30.0
    while not any(track.name == name for track in watch.tracks.values()):
        assert time.monotonic() < ends_s, [track.name for track in watch.tracks.values()]
        watch.look()
        time.sleep(0.01)


def test_the_ends_of_a_series_are_medians() -> None:
    assert ends([1, 1, 9, 5, 5, 5, 3, 3]) == (1.0, 3.0)

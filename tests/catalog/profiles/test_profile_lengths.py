"""Profiles by rows and length: how they are measured, written and read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import ConfigError
from catalog.lengths import Lengths
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import COLUMNS, ProfiledVariant, read_profiles, write_profiles
from catalog.profiles.profiler import measured_lengths, profile_lengths

HEADER = ",".join((*COLUMNS, "length"))
LATENCY = BatchLatency(10, 2.0, 0.5, 2.0, 3.0, 4.0, 5.0)
FIXED = LatencyProfile("cpu", {1: LATENCY, 4: LATENCY})


def test_what_was_written_is_read_again_beside_variants_of_fixed_size(tmp_path: Path) -> None:
    of_lengths = LatencyProfile.of_lengths("cpu", 20, {5: {1: LATENCY}, 20: {1: LATENCY, 4: LATENCY}, 80: {1: LATENCY}})
    variants = {"any": ProfiledVariant(80.0, of_lengths), "fixed": ProfiledVariant(70.0, FIXED)}
    path = tmp_path / "profiles.csv"
    write_profiles(path, variants)
    header, first, *_, last = path.read_text().splitlines()
    assert (header, first.rpartition(",")[2], last.rpartition(",")[2]) == (HEADER, "20", "")
    assert read_profiles(path, "cpu") == variants


def test_a_file_without_variants_of_any_length_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "profiles.csv"
    write_profiles(path, {"fixed": ProfiledVariant(70.0, FIXED)})
    assert path.read_text().splitlines()[0] == ",".join(COLUMNS)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,50,1,1,1,0,1,1,1,1,7", "a,50,1,1,1,0,1,1,1,1,7"], "'a' has this batch size twice for length 7"),
        (["a,50,1,1,1,0,1,1,1,1,7", "a,50,2,1,1,0,1,1,1,1,"], "'a' has rows with and without a length"),
        (["a,50,1,1,1,0,1,1,1,1,x"], "column length: 'x'; give a whole number of at least 1"),
        (["a,50,1,1,1,0,1,1,1,1"], "the row has 10 cells; give 11"),
    ],
)
def test_a_length_that_is_wrong_is_named(tmp_path: Path, rows: list[str], message: str) -> None:
    path = tmp_path / "profiles.csv"
    path.write_text("\n".join([HEADER, *rows]))
    with pytest.raises(ConfigError, match=message):
        read_profiles(path, "cpu")


@given(st.integers(1, 600), st.one_of(st.none(), st.integers(1, 600)))
def test_measured_lengths_reach_the_longest_and_leave_the_typical_one_out(longest: int, typical: int | None) -> None:
    lengths = Lengths(longest=longest, typical=None if typical is None else min(typical, longest))
    measured = measured_lengths(lengths)
    assert list(measured) == sorted(set(measured) - {lengths.typical_length})
    assert max((*measured, lengths.typical_length)) == longest


def test_every_length_is_measured_with_its_own_runs() -> None:
    now_s, ran = 0.0, set()

    def run(length: int, rows: int) -> float:
        nonlocal now_s
        ran.add((length, rows))
        now_s += 0.001 * length * rows
        return 0.001 * length * rows

    shares: list[float] = []
    profile = profile_lengths(run, "cpu", 1.0, Lengths(longest=32), 8, lambda: now_s, shares.append)
    assert profile.length == 8
    assert sorted(profile.by_length) == [2, 4, 8, 16, 32]
    assert profile.batch_sizes == (1, 2, 4, 8)
    assert profile.by_length[32].batch_sizes == (1, 4)
    assert profile.by_length[32].mean_s(4) == pytest.approx(0.128)
    assert profile.mean_s(4) == pytest.approx(0.032)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    assert ran == {(8, n) for n in (1, 2, 4, 8)} | {(length, n) for length in (2, 4, 16, 32) for n in (1, 4)}

"""Profile files round trip, and a bad cell is named by file, line, column and value."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import COLUMNS, ProfiledVariant, read_profiles, write_profiles

_HEADER = "variant,accuracy_pct,batch_size,samples,mean_ms,std_ms,p50_ms,p90_ms,p95_ms,p99_ms"
_MS = st.floats(1e-6, 1e6)
_QUANTILES_MS = st.lists(_MS, min_size=4, max_size=4).map(sorted)
_LATENCIES = st.builds(
    lambda samples, mean_ms, std_ms, quantiles_ms: BatchLatency(samples, mean_ms, std_ms, *quantiles_ms),
    st.integers(1, 10**6),
    _MS,
    st.floats(0.0, 1e6),
    _QUANTILES_MS,
)
_VARIANTS = st.builds(
    lambda accuracy_pct, by_batch: ProfiledVariant(accuracy_pct, LatencyProfile("cpu", by_batch)),
    st.floats(0.0, 100.0),
    st.dictionaries(st.integers(1, 512), _LATENCIES, min_size=1, max_size=3),
)
_NAMES = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=8)


def written(folder: Path, *rows: str, header: str = _HEADER) -> Path:
    """A profile file of those lines."""
    path = folder / "profiles.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_the_columns_are_those_of_the_ramsis_artefact() -> None:
    assert ",".join(COLUMNS) == _HEADER


@settings(max_examples=50)
@given(st.dictionaries(_NAMES, _VARIANTS, min_size=1, max_size=3))
def test_what_was_written_is_read_again(variants: dict[str, ProfiledVariant]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profiles.csv"
        write_profiles(path, variants)
        found = read_profiles(path, "cpu")
    assert list(found) == list(variants)
    for name, variant in variants.items():
        assert found[name].accuracy_pct == pytest.approx(variant.accuracy_pct, rel=1e-9)
        assert found[name].profile.batch_sizes == variant.profile.batch_sizes
        for size, latency in variant.profile.by_batch.items():
            assert vars(found[name].profile.by_batch[size]) == pytest.approx(vars(latency), rel=1e-9)


def test_rows_of_one_variant_become_one_profile(tmp_path: Path) -> None:
    path = written(tmp_path, "a,77.5,1,10,1,0,1,2,3,4", "b,80,1,10,9,0,9,9,9,9", "a,77.5,2,10,2,0,2,3,4,5")
    found = read_profiles(path, "T4")
    assert list(found) == ["a", "b"]
    assert found["a"].accuracy_pct == 77.5
    assert found["a"].profile.device == "T4"
    assert (found["a"].profile.latency_ms(1), found["a"].profile.latency_ms(2)) == (3.0, 4.0)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (",77,1,10,1,0,1,1,1,1", "column variant: ''"),
        ("a,good,1,10,1,0,1,1,1,1", "column accuracy_pct: 'good'; give a number from 0 to 100"),
        ("a,100.5,1,10,1,0,1,1,1,1", "column accuracy_pct: '100.5'"),
        ("a,77,0,10,1,0,1,1,1,1", "column batch_size: '0'; give a whole number of at least 1"),
        (
            f"a,77,1{'0' * 400},10,1,0,1,1,1,1",
            f"column batch_size: '1{'0' * 39}...'; give a whole number of at most 2147483647",
        ),
        ("a,77,1,10,5,1,9,8,9,9", "column p90_ms: 8.0; p50_ms is 9, and a higher quantile cannot be less"),
        ("a,77,1,10,5,1,1,5,3,9", "column p95_ms: 3.0; p90_ms is 5, and a higher quantile cannot be less"),
        ("a,77,1,10,5,1,1,2,3,1", "column p99_ms: 1.0; p95_ms is 3, and a higher quantile cannot be less"),
        ("a,77,1.5,10,1,0,1,1,1,1", "column batch_size: '1.5'"),
        ("a,77,1,none,1,0,1,1,1,1", "column samples: 'none'"),
        ("a,77,1,10,-1,0,1,1,1,1", "column mean_ms: '-1'; give a number above 0"),
        ("a,77,1,10,0,0,1,1,1,1", "column mean_ms: '0'; give a number above 0"),
        ("a,77,1,10,1,0,0,1,1,1", "column p50_ms: '0'; give a number above 0"),
        ("a,77,1,10,1,0,1,0.0,1,1", "column p90_ms: '0.0'; give a number above 0"),
        ("a,77,1,10,1,0,1,1,0,1", "column p95_ms: '0'; give a number above 0"),
        ("a,77,1,10,1,0,1,1,1,0", "column p99_ms: '0'; give a number above 0"),
        ("a,77,1,10,1,-1,1,1,1,1", "column std_ms: '-1'; give a finite number of at least 0"),
        ("a,77,1,10,1,0,1,1,nan,1", "column p95_ms: 'nan'"),
        ("a,77,1,10,1,0,1,1,1,inf", "column p99_ms: 'inf'"),
        ("a,77,1,10,1", "the row has 5 cells; give 10"),
        ("first,50,1,10,1,0,1,1,1,1", "column batch_size: 1; 'first' has this batch size twice"),
        ("first,60,2,10,1,0,1,1,1,1", "column accuracy_pct: '60'; earlier rows of 'first' say 50"),
    ],
)
def test_a_bad_row_is_named_by_file_line_column_and_value(tmp_path: Path, row: str, fault: str) -> None:
    path = written(tmp_path, "first,50,1,10,1,0,1,1,1,1", row)
    with pytest.raises(ConfigError) as caught:
        read_profiles(path, "cpu")
    assert f"profile file {path}, line 3" in str(caught.value)
    assert fault in str(caught.value)


def test_another_header_is_refused_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 1: the header is 'a,b'; it must be 'variant,"):
        read_profiles(written(tmp_path, header="a,b"), "cpu")


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no rows"):
        read_profiles(written(tmp_path), "cpu")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read profile file .*none\.csv"):
        read_profiles(tmp_path / "none.csv", "cpu")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "profiles.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not CSV in UTF-8"):
        read_profiles(path, "cpu")

import gzip
from pathlib import Path

import numpy as np
import pytest

from catalog.errors import ConfigError
from workload.trace import RecordedArrivals, RecordedLoad, read_trace


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_a_file_of_arrivals_is_replayed_to_the_millisecond(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.csv.gz", "arrival_ms,query_type\n6,mobilenet\n10,t5\n10,bert\n1500,t5\n")
    source = read_trace(path, seed=0)
    assert isinstance(source, RecordedArrivals)
    np.testing.assert_allclose(source.times_s(10.0), [0.006, 0.010, 0.010, 1.5])
    np.testing.assert_allclose(source.times_s(1.5), [0.006, 0.010, 0.010])


def test_arrivals_may_be_in_seconds(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.csv", "arrival_s\n0.25\n1.5\n")
    np.testing.assert_array_equal(read_trace(path, seed=0).times_s(10.0), [0.25, 1.5])


def test_rescaled_arrivals_keep_their_pattern(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.csv", "query_type,arrival_ms\na,100\na,300\na,400\na,1000\n")
    np.testing.assert_allclose(read_trace(path, 0, mean_rate_qps=2.0).times_s(10.0), [0.2, 0.6, 0.8, 2.0])


def test_a_file_of_loads_gives_poisson_arrivals_of_each_interval(tmp_path: Path) -> None:
    path = write(tmp_path / "load.csv", "time_s,load_qps\n100,500\n110,0\n120,1000\n")
    source = read_trace(path, seed=1)
    assert isinstance(source, RecordedLoad)
    counts = np.histogram(source.times_s(1000.0), bins=4, range=(0, 40))[0]
    np.testing.assert_allclose(counts, [5000, 0, 10000, 0], rtol=0.06)
    assert source.times_s(5.0)[-1] < 5.0


def test_rescaled_loads_have_the_mean_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "load.csv", "time_s,load_qps\n0,10\n10,20\n20,60\n")
    source = read_trace(path, 1, mean_rate_qps=300.0)
    assert isinstance(source, RecordedLoad)
    assert [step.rate_qps for step in source.schedule.steps] == pytest.approx([100, 200, 600])


def test_loads_with_the_same_seed_repeat_bit_for_bit(tmp_path: Path) -> None:
    path = write(tmp_path / "load.csv", "time_s,load_qps\n0,10\n10,20\n")
    assert read_trace(path, 3).times_s(20.0).tobytes() == read_trace(path, 3).times_s(20.0).tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("when,what\n1,2\n", "has columns when, what; give a CSV file with arrival_ms or arrival_s"),
        ("time_s,rate\n1,2\n", "has columns time_s, rate"),
        ("arrival_ms\n", "holds no data"),
        ("", "holds no data"),
        ("arrival_ms\n5\nsoon\n", "line 3: 'soon' has no number in arrival_ms"),
        ("query_type,arrival_ms\nt5\n", "line 2: 't5' has no number"),
        ("arrival_ms\n5\n-1\n", "line 3: arrival_ms is -1"),
        ("arrival_ms\nnan\n", "line 2: arrival_ms is nan"),
        ("arrival_ms\n5\n4\n", "line 3: arrival_ms goes back in time"),
        ("arrival_s\n0.5\n0.25\n", "line 3: arrival_s goes back in time"),
        ("time_s,load_qps\n0,5\n", "at least two lines"),
        ("time_s,load_qps\n0,5\n0,6\n", "rise from each to the next"),
        (
            "time_s,load_qps\n0,0\n10,0\n",
            r"trace .*trace\.csv: load_qps is 0 on every line, so that it never sends a query",
        ),
    ],
)
def test_a_faulty_trace_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_trace(write(tmp_path / "trace.csv", text), seed=0)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read trace"):
        read_trace(tmp_path / "missing.csv", seed=0)
    plain = tmp_path / "plain.csv.gz"
    plain.write_text("arrival_ms\n1\n")
    with pytest.raises(ConfigError, match=r"gzipped if it ends in \.gz"):
        read_trace(plain, seed=0)


def test_a_trace_without_length_cannot_be_rescaled(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.csv", "arrival_ms\n0\n0\n")
    with pytest.raises(ConfigError, match="cannot be rescaled"):
        read_trace(path, 0, mean_rate_qps=5.0)
    with pytest.raises(ConfigError, match="mean rate 0"):
        read_trace(path, 0, mean_rate_qps=0.0)


def test_a_trace_is_as_long_as_it_goes_on(tmp_path: Path) -> None:
    arrivals = read_trace(write(tmp_path / "trace.csv", "arrival_s\n0.25\n1.5\n"), seed=0)
    assert arrivals.length_s == pytest.approx(1.5)
    assert len(arrivals.times_s(arrivals.length_s)) == 2, "the last one too"
    assert read_trace(write(tmp_path / "load.csv", "time_s,load_qps\n0,10\n10,20\n"), seed=0).length_s == 20.0


def test_instants_from_the_epoch_are_counted_from_the_first(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.csv", "arrival_s\n1700000000.5\n1700000002.0\n")
    np.testing.assert_allclose(read_trace(path, seed=0).times_s(10.0), [0.0, 1.5])


def test_the_mark_that_spreadsheets_put_first_is_no_part_of_a_column(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_bytes(b"\xef\xbb\xbfarrival_s\r\n0.25\r\n")
    np.testing.assert_array_equal(read_trace(tmp_path / "trace.csv", seed=0).times_s(10.0), [0.25])


@pytest.mark.parametrize(
    "text",
    ["arrival_ms\n500\n\n750\n\n", "\narrival_ms\n  \n500\n750\n", "arrival_ms\r\n\r\n500\r\n750"],
)
def test_blank_lines_are_skipped(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "trace.csv", text)
    np.testing.assert_allclose(read_trace(path, seed=0).times_s(10.0), [0.5, 0.75])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival_ms\n5\n\nsoon\n", "line 4: 'soon' has no number"),
        ("arrival_ms\n\n5\n\n4\n", "line 5: arrival_ms goes back in time"),
        ("time_s,load_qps\n\n0,1\n,\n", "line 4: ',' has no number in time_s"),
        ("arrival_ms\n\n\n", "holds no data"),
        ("\n\n", "holds no data"),
    ],
)
def test_blank_lines_count_where_a_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_trace(write(tmp_path / "trace.csv", text), seed=0)


def test_a_compressed_file_that_is_damaged_inside_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    whole = bytearray(gzip.compress(b"arrival_ms\n" + b"".join(b"%d\n" % (7919 * n % 9973) for n in range(500))))
    whole[40:80] = b"\xff" * 40
    path.write_bytes(whole)
    with pytest.raises(ConfigError, match=r"trace\.csv\.gz"):
        read_trace(path, seed=0)


@pytest.mark.parametrize("text", ["arrival_ms\n0\n", "arrival_ms\n1700000000000\n", "arrival_ms\n0\n0\n0\n"])
def test_a_trace_of_one_instant_has_a_length(tmp_path: Path, text: str) -> None:
    (tmp_path / "trace.csv").write_text(text)
    trace = read_trace(tmp_path / "trace.csv", seed=0)
    assert trace.length_s == 1e-3
    assert len(trace.times_s(trace.length_s)) == text.count("\n") - 1


def test_spaces_around_the_names_of_columns_are_no_part_of_them(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path / "trace.csv", "time_s, load_qps \n0, 10\n5, 20\n"), seed=1)
    assert trace.length_s == 10

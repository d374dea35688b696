"""A factor on run times that changes while runs go on."""

import os
from pathlib import Path

import pytest

from catalog.errors import ConfigError
from deployments.runtimes.factor_file import FactorFile


def write(path: Path, content: str) -> None:
    """Another content at another time of change, however coarse the file system's clock is."""
    before_ns = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(content)
    os.utime(path, ns=(before_ns + 1_000_000_000, before_ns + 1_000_000_000))


def test_it_follows_the_file_and_is_one_without_it(tmp_path: Path) -> None:
    path = tmp_path / "factor"
    followed = FactorFile(path, "w1")
    assert followed.factor() == 1
    for content, factor in (("1.5", 1.5), ("2", 2), ("0.5\n", 0.5)):
        write(path, content)
        assert followed.factor() == factor
        assert followed.factor() == factor
    path.unlink()
    assert followed.factor() == 1


@pytest.mark.parametrize(
    ("worker", "content", "factor"),
    [
        ("w1", '{"w1": 2, "default": 3}', 2),
        ("w2", '{"w1": 2, "default": 3}', 3),
        ("w2", '{"w1": 2}', 1),
        ("w1", "{}", 1),
    ],
)
def test_workers_have_factors_of_their_own(tmp_path: Path, worker: str, content: str, factor: float) -> None:
    write(tmp_path / "factor", content)
    assert FactorFile(tmp_path / "factor", worker).factor() == factor


@pytest.mark.parametrize(
    "content", ["", "fast", "0", "-1", "true", "NaN", "Infinity", "[2]", '{"w2": 0}', '{"w1": "2"}']
)
def test_what_is_no_factor_is_refused_and_while_runs_go_on_the_one_before_stays(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "factor"
    write(path, "2")
    followed = FactorFile(path, "w1")
    assert followed.factor() == 2
    write(path, content)
    with pytest.raises(ConfigError, match=r"factor file .*factor holds .*; write a number above 0"):
        followed.read()
    assert (followed.factor(), followed.factor()) == (2, 2)
    assert caplog.text.count("Run times keep factor 2") == 1

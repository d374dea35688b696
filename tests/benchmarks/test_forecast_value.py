"""The whole benchmark on a small series with regular bursts: figures, picture, and words for what is wrong."""

import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from benchmarks.forecast_value import __main__ as forecast_value
from forecast_value_scene import bursts_every_other_hour

Run = Callable[..., str]


@pytest.fixture
def series(tmp_path: Path) -> Path:
    path = tmp_path / "load.csv"
    loads = bursts_every_other_hour(3).loads_qps.astype(int)
    path.write_text("requests_per_s\n" + "\n".join(map(str, loads)) + "\n")
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def with_arguments(*arguments: str) -> str:
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        monkeypatch.setattr(sys, "argv", ["forecast_value", *arguments])
        forecast_value.main()
        return capsys.readouterr().out

    return with_arguments


def test_the_last_line_compares_every_forecaster_with_reactive_and_oracle(run: Run, series: Path) -> None:
    arguments = ("--series", str(series), "--train-days", "2", "--bursty-hours", "1", "--diurnal-hours", "1")
    plot = series.with_name("plot.png")
    out = run(*arguments, "--forecasters", "linear,seasonal_naive", "--json", "--plot", str(plot))
    body = orjson.loads(out.splitlines()[-1])
    assert body["parts"]["bursty"] == {"hours": 1, "of": 12, "bursts": 1}
    assert set(body["kinds"]) == {"all", "bursty", "diurnal"}
    everywhere = body["kinds"]["all"]
    assert set(everywhere) == {"reactive", "oracle", "linear", "seasonal_naive"}
    assert body["best"] == "seasonal_naive"
    assert body["share_of_oracle_gain"] == everywhere["seasonal_naive"]["share_of_oracle_gain"] > 0.9
    assert everywhere["seasonal_naive"]["violations_pct"] < everywhere["reactive"]["violations_pct"] / 3
    assert everywhere["reactive"]["fewer_violations_than_reactive"] == 1.0
    assert {name: len(own) for name, own in body["frontiers"]["all"].items()} == {
        "reactive": 5,
        "oracle": 4,
        "linear": 3,
        "seasonal_naive": 3,
    }
    assert set(body["fit_s"]) == {"linear", "seasonal_naive"}
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--train-days", "3"), "no hour from 259200 s to 259200 s of the series was wholly observed"),
        (("--series", "nothing.csv"), "cannot read nothing.csv"),
    ],
)
def test_a_series_that_cannot_be_compared_on_is_refused(
    run: Run, series: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(SystemExit, match=complaint):
        run("--series", str(series), *arguments)

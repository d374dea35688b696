"""The comparison as a command, on a small file with few settings."""

import sys
from pathlib import Path

import numpy as np
import orjson
import pytest

from benchmarks.ipa import __main__ as ipa
from benchmarks.ipa import comparison, excerpts, simulation, tuning
from benchmarks.ipa.demand import TASK
from benchmarks.ipa.excerpts import KINDS
from benchmarks.ipa.systems import SYSTEMS
from forecast.forecaster import Forecaster
from forecast.registry import make
from forecast.series.series import LoadSeries

SECONDS = 18 * 1200


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few settings, and a forecaster that learns at once."""
    for name, value in {"HALVINGS": 1, "ALPHAS": (0.01, 4.0, 64.0), "MOST_REPLICAS": 8}.items():
        monkeypatch.setattr(tuning, name, value)
    monkeypatch.setattr(comparison, "FRONTIER_ALPHAS", (1.0,))
    monkeypatch.setattr(comparison, "HALVINGS", 1)
    for module in (excerpts, simulation):
        monkeypatch.setattr(module, "LENGTH_S", 120)

    def moving_average(series: LoadSeries, scale: float, until_s: int, seed: int) -> Forecaster:
        forecaster = make("moving_average", TASK)
        known = series.between(until_s - 3600, until_s)
        forecaster.fit(LoadSeries(known.times_s, scale * known.loads_qps))
        return forecaster

    monkeypatch.setattr(ipa, "learned", moving_average)


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """Six hours at 3 requests/s with some more now and then, and none at all in many seconds."""
    rng = np.random.default_rng(1)
    loads = rng.poisson(3.0 + (np.arange(SECONDS) % 1500 < 100))
    path = tmp_path / "load.csv"
    path.write_text("requests_per_s\n" + "\n".join(map(str, loads)) + "\n")
    return path


def test_json_has_every_figure_of_every_system(
    small: None, series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--json", "--series", str(series), "--pipelines", "video", "--processes", "1"]
    monkeypatch.setattr(sys, "argv", ["ipa", *arguments, "--plot", str(tmp_path / "plots")])
    ipa.main()
    body = orjson.loads(capsys.readouterr().out)
    assert body["series"] == "load.csv"
    assert list(body["pipelines"]) == ["video"]
    assert tuple(body["pipelines"]["video"]) == KINDS
    for own in body["pipelines"]["video"].values():
        assert tuple(own) == SYSTEMS
        for figures in own.values():
            assert 0.0 <= figures["accuracy"] <= 100.0
            assert 0.0 <= figures["violations_pct"] <= 100.0
            assert figures["cost_cores"] >= 2.0
        assert own["fa2_low"]["accuracy"] == 0.0
        assert own["fa2_high"]["accuracy"] == 100.0
    assert body["goals_met"] == all(goal["met"] for goal in body["goals"].values())
    assert {"accuracy_points_above_fa2_low", "cost_over_rim", "fewer_violations_than_reactive"} <= set(body["goals"])
    assert {"predictive", "reactive", "reactive_at_equal_cost"} <= set(body["predictive"]["video"])
    presets = body["frontier"]["video"]["presets"]
    assert set(presets) == {"resource_prioritised", "balanced", "accuracy_prioritised"}
    assert presets["resource_prioritised"]["accuracy"] <= presets["accuracy_prioritised"]["accuracy"]
    assert tuple(body["excerpts"]["tuned"]) == tuple(body["excerpts"]["reported"]) == KINDS
    for name in ("ipa-frontier.png", "ipa-bursty.png"):
        assert (tmp_path / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_a_file_that_is_too_short_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = tmp_path / "short.csv"
    short.write_text("requests_per_s\n" + "5\n" * 5000)
    monkeypatch.setattr(sys, "argv", ["ipa", "--series", str(short)])
    with pytest.raises(SystemExit, match=r"only 0 excerpts of 600 s fit .* h or longer"):
        ipa.main()


def test_an_unknown_pipeline_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["ipa", "--pipelines", "video,radio"])
    with pytest.raises(SystemExit, match="2"):
        ipa.main()
    assert "no pipeline radio; there are video, audio-qa" in capsys.readouterr().err

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import torch

from catalog.errors import ArtifactError, BadSeries, ConfigError
from forecast.artifact import load
from forecast.model_file import check_target, read, write
from forecast.series.series import LoadSeries
from forecast.training.backtest import backtest
from forecast.training.task import ForecastTask
from forecast.training.training import TrainingRequest, train

TASK = ForecastTask(context_s=60, window_s=20, block_s=10)


def history(steps: int = 5000) -> LoadSeries:
    noise = np.random.default_rng(0).normal(0, 3, steps)
    return LoadSeries.regular(np.maximum(50 + 20 * np.sin(np.arange(steps) / 300) + noise, 0.0), start_s=1_000_000)


def request(name: str = "linear", series: LoadSeries | None = None, **changes: object) -> TrainingRequest:
    return TrainingRequest(name, TASK, history() if series is None else series, **changes)  # type: ignore[arg-type]


def test_the_newest_part_is_held_out_and_the_model_is_scored_on_it() -> None:
    trained = train(request(created_s=123.5, notes={"series": {"rows": 7}}, seed=3))
    card, held_out = trained.model.card, trained.held_out
    assert (card.trained_from_s, card.trained_until_s, card.step_s) == (1_000_000, 1_004_000, 1)
    assert held_out is not None
    assert held_out.at_s.min() >= card.trained_until_s
    assert card.scores == held_out.scores.to_record()
    assert card.scores["smape_pct"] < 10
    assert card.created_s == 123.5
    assert card.training == {"seed": 3, "held_out_s": 1000, "series": {"rows": 7}}


def test_nothing_of_what_is_held_out_is_learned() -> None:
    series = history()
    other = np.concatenate([series.loads_qps[:4000], 9 * series.loads_qps[4000:]])
    one, two = (train(request(series=LoadSeries(series.times_s, each))) for each in (series.loads_qps, other))
    (one_arrays, one_values), (two_arrays, two_values) = (each.model.forecaster.state() for each in (one, two))
    assert one_values == two_values
    assert all(np.array_equal(one_arrays[key], two_arrays[key]) for key in one_arrays)
    assert one.model.card.scores != two.model.card.scores


def test_the_written_model_forecasts_as_the_trained_one(tmp_path: Path) -> None:
    trained = train(request())
    write(trained.model, str(tmp_path / "new" / "load.safetensors"))
    loaded = load(tmp_path / "new" / "load.safetensors")
    assert loaded.card == trained.model.card
    again = backtest(loaded.forecaster, history(), loaded.card.trained_until_s, TASK.block_s)
    assert trained.held_out is not None
    assert again.scores == trained.held_out.scores


def test_with_nothing_held_out_there_are_no_scores() -> None:
    trained = train(request(hold_out=0.0))
    assert trained.held_out is None
    assert trained.model.card.scores == {}
    assert trained.model.card.trained_until_s == 1_005_000


def test_at_least_one_window_is_held_out() -> None:
    trained = train(request(hold_out=0.0001))
    assert trained.model.card.trained_until_s == 1_005_000 - TASK.window_s
    assert trained.held_out is not None
    assert trained.held_out.scores.origins == 1


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"hold_out": 1.0}, ConfigError, "hold_out is 1.0; give a share"),
        ({"name": "oracle"}, ConfigError, "forecaster 'oracle' is not known; known are"),
        ({"series": history(25), "hold_out": 0.99}, BadSeries, "25 steps, and 25 are held out"),
        ({"series": history(130)}, BadSeries, "examples"),
        ({"series": LoadSeries.regular(np.ones(500), step_s=7)}, ConfigError, "steps of 7 s"),
    ],
)
def test_what_cannot_be_trained_says_why(changes: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        train(request(**changes))  # type: ignore[arg-type]


def test_a_part_held_out_that_has_nothing_to_score_on_is_found_before_the_learning() -> None:
    series = history(1500)
    kept = np.r_[0:1420, 1421:1500:10]
    steps: list[int] = []
    with pytest.raises(BadSeries, match="nothing to forecast"):
        train(
            request("lstm", LoadSeries(series.times_s[kept], series.loads_qps[kept]), hold_out=0.005),
            lambda done, total, loss: steps.append(done),
        )
    assert not steps


def test_checkpoints_of_another_request_are_not_gone_on_from(tmp_path: Path) -> None:
    same = request(checkpoint=tmp_path)
    assert same.checkpoints is not None
    assert same.checkpoints.parent == tmp_path
    assert request(checkpoint=tmp_path).checkpoints == same.checkpoints
    others = (
        request("lstm", checkpoint=tmp_path),
        request(seed=1, checkpoint=tmp_path),
        request(hold_out=0.3, checkpoint=tmp_path),
        request(series=history(4900), checkpoint=tmp_path),
    )
    assert len({each.checkpoints for each in (same, *others)}) == 5
    assert request().checkpoints is None


class Stop(Exception):
    """Ends a training half way."""


@pytest.mark.parametrize("name", ["deepar", "lstm"])
def test_a_training_that_was_ended_goes_on_and_gives_the_same_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forecast.training.network.MOST_EPOCHS", 3)

    def end(done: int, total: int, loss: float) -> None:
        if done > 0.7 * total:
            raise Stop

    with pytest.raises(Stop):
        train(request(name, checkpoint=tmp_path), end)
    steps: list[int] = []
    began: list[tuple[int, int]] = []
    resumed = train(
        request(name, checkpoint=tmp_path),
        lambda done, total, loss: steps.append(done),
        lambda done, total: began.append((done, total)),
    )
    whole = train(request(name))
    assert steps[0] > 1
    assert began == [(steps[0] - 1, 150)]
    assert steps == list(range(steps[0], 151))
    assert resumed.held_out is not None
    assert whole.held_out is not None
    assert resumed.held_out.scores.smape_pct == pytest.approx(whole.held_out.scores.smape_pct, rel=0.1)
    np.testing.assert_array_equal(resumed.held_out.forecast.quantiles, whole.held_out.forecast.quantiles)


def saved(value: Any) -> bytes:
    buffer = BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:2000],
        lambda content: b"",
        lambda content: b"nonsense",
        lambda content: saved({"weights": torch.zeros(2)}),
        lambda content: saved([1, 2]),
    ],
)
def test_a_checkpoint_that_is_damaged_is_told_of_and_the_training_begins_anew(
    damage: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("forecast.training.network.MOST_EPOCHS", 1)
    first = train(request("lstm", checkpoint=tmp_path))
    [file] = tmp_path.rglob("*.ckpt")
    file.write_bytes(damage(file.read_bytes()))
    steps: list[int] = []
    again = train(request("lstm", checkpoint=tmp_path), lambda done, total, loss: steps.append(done))
    assert steps[0] == 1
    assert again.model.card.scores == first.model.card.scores
    assert f"The checkpoint {file} cannot be read, and the training begins anew" in caplog.text


def test_a_model_is_written_to_and_read_from_a_url() -> None:
    trained = train(request("moving_average"))
    write(trained.model, "memory://models/deep/load.safetensors")
    assert read("memory://models/deep/load.safetensors").card == trained.model.card
    assert fsspec.filesystem("memory").ls("/models/deep", detail=False) == ["/models/deep/load.safetensors"]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("load.bin", "is to be one; give it that ending"),
        ("gopher://models/load.safetensors", "cannot reach gopher://models/load.safetensors"),
        ("/proc/new/load.safetensors", "cannot make the folder of /proc/new"),
    ],
)
def test_where_no_model_can_be_written_is_known_beforehand(where: str, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        check_target(where)


def test_a_folder_is_no_place_for_a_model(tmp_path: Path) -> None:
    (tmp_path / "load.safetensors").mkdir()
    with pytest.raises(ArtifactError, match="it is a folder"):
        check_target(str(tmp_path / "load.safetensors"))


def test_a_model_that_is_not_there_is_named() -> None:
    with pytest.raises(ArtifactError, match=r"cannot fetch memory://nowhere/load.safetensors"):
        read("memory://nowhere/load.safetensors")
    with pytest.raises(ArtifactError, match=r"cannot read the forecaster .*nowhere/load.safetensors"):
        read("/nowhere/load.safetensors")

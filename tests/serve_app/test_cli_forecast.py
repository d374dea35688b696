import json
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from forecast.artifact import load
from serve_app.cli.forecast.job import REQUIRED, TrainJob, read_job
from serve_app.cli.main import app

ROOT = Path(__file__).parents[2]
SCORES = {"origins", "rmse_qps", "smape_pct", "pinball_qps", "coverage_90_pct", "width_90_qps"}


def accord(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["forecast", *map(str, arguments)])


def words(output: str) -> str:
    """What was printed, without the line breaks that the width of the terminal makes."""
    return " ".join(output.split())


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An hour and a half of load with a gap, rows of the same time and one out of order."""
    loads = 50 + 20 * np.sin(np.arange(5400) / 300) + np.random.default_rng(0).normal(0, 3, 5400)
    rows = [f"{at},{load:.3f}" for at, load in enumerate(loads) if not 2000 <= at < 2060]
    rows[10] = "10,"
    rows += ["5000,55.5", "5399,60"]
    path = tmp_path_factory.mktemp("series") / "load.csv"
    path.write_text("\n".join(["time,requests_per_s", *rows]) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def model(series: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Linear, which learned from the first 80%."""
    path = tmp_path_factory.mktemp("models") / "linear.safetensors"
    assert accord("train", "--series", series, "--model", "linear", "--out", path).exit_code == 0
    return str(path)


def test_training_tells_what_was_found_learned_and_scored_and_writes_the_model(series: str, tmp_path: Path) -> None:
    out = tmp_path / "models" / "load.safetensors"
    result = accord("train", "--series", series, "--model", "linear", "--out", out, "--window-s", 10)
    assert result.exit_code == 0
    shown = words(result.stdout)
    for part in (
        "5,339 steps of 1 s, from day 0 00:00:00 to day 0 01:30:00",
        "1 of 5,342 rows have no load: not observed",
        "2 rows have the time of a later row, which stands",
        "1 rows come after a later time: sorted",
        "2 gaps, 1 min in all, the longest 1 min: left out, not filled",
        "linear forecasts the highest load of the next 10 s from the last 2 min",
        "It learned from day 0 00:00:00 to day 0 01:12:12",
        "106 forecasts",
        "│ linear │",
    ):
        assert part in shown
    card = load(out).card
    assert (card.name, card.task.window_s, card.trained_until_s) == ("linear", 10, 4332)
    assert card.created_s > 0
    assert card.training["series"]["gaps"] == 2


def test_every_line_fits_a_terminal_of_eighty_columns(series: str, model: str, tmp_path: Path) -> None:
    out = tmp_path / "ewma.safetensors"
    trained = accord("train", "--series", series, "--model", "ewma", "--out", out)
    told = accord("evaluate", "--series", series, "--model", model, "--model", out)
    for lines in (trained.stdout.splitlines(), told.stdout.splitlines()):
        assert max(len(line.rstrip()) for line in lines if not line.startswith(("Load of", "Written"))) <= 80
        assert not any("…" in line for line in lines)


def test_json_of_a_training_is_one_object(series: str, tmp_path: Path) -> None:
    out = tmp_path / "load.safetensors"
    result = accord("train", "--series", series, "--model", "ewma", "--out", out, "--json", "--hold-out", 0.1)
    told = json.loads(result.stdout)
    assert told["model"] == "ewma"
    assert told["out"] == str(out)
    assert told["task"]["context_s"] == 120
    assert told["series"]["duplicates"] == 2
    assert told["scores"].keys() == SCORES
    assert (told["trained_from_s"], told["trained_until_s"], told["held_out_s"]) == (0, 4866, 534)
    assert told["train_s"] > 0
    assert told["resumed_at_step"] == 0


def test_a_training_in_a_log_tells_how_far_it_is_and_where_it_goes_on(
    series: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forecast.training.network.MOST_EPOCHS", 2)
    options = ("train", "--series", series, "--model", "lstm", "--checkpoint", tmp_path / "checkpoints")
    out = ("--out", tmp_path / "lstm.safetensors", "--json")
    first = accord(*options, *out)
    assert "step 100 of 100" in first.stderr
    assert len(first.stderr.splitlines()) <= 22
    assert json.loads(first.stdout)["resumed_at_step"] == 0
    assert "goes on" not in first.stderr
    again = accord(*options, *out)
    assert again.exit_code == 0
    assert json.loads(again.stdout)["resumed_at_step"] == 100
    assert again.stderr == "goes on at step 100 of 100\n"
    assert json.loads(again.stdout)["scores"] == json.loads(first.stdout)["scores"]


def test_options_win_over_the_file_and_the_file_over_what_is_usual(series: str, tmp_path: Path) -> None:
    config = tmp_path / "job.yaml"
    content = {"series": series, "model": "ewma", "window_s": 30, "block_s": 20, "out": str(tmp_path / "x.safetensors")}
    config.write_text(yaml.safe_dump(content))
    result = accord("train", "--config", config, "--model", "linear", "--block-s", 30, "--json")
    told = json.loads(result.stdout)
    assert told["model"] == "linear"
    assert (told["task"]["window_s"], told["task"]["block_s"], told["task"]["lead_s"]) == (30, 30, 0)


def test_the_file_of_the_ray_job_names_only_options_that_there_are() -> None:
    job = read_job({}, ROOT / "configs" / "jobs" / "train_forecaster.yaml")
    assert job.model == "deepar"
    usual = TrainJob(**{key: getattr(job, key) for key in (*REQUIRED, "checkpoint")})
    assert job == usual


def test_a_model_goes_to_a_url(series: str) -> None:
    out = "memory://models/load.safetensors"
    assert accord("train", "--series", series, "--model", "constant", "--out", out).exit_code == 0
    assert fsspec.filesystem("memory").exists("/models/load.safetensors")
    assert accord("evaluate", "--series", series, "--model", out).exit_code == 0


def test_models_are_scored_after_what_they_learned_at_the_same_instants(
    series: str, model: str, tmp_path: Path
) -> None:
    other = tmp_path / "naive.safetensors"
    accord("train", "--series", series, "--model", "moving_average", "--context-s", 300, "--out", other)
    told = json.loads(accord("evaluate", "--series", series, "--model", model, "--model", other, "--json").stdout)
    assert told["from_s"] == load(Path(model)).card.trained_until_s
    assert told["every_s"] == 10
    assert [each["file"] for each in told["models"]] == [model, str(other)]
    assert all(each["scores"].keys() == SCORES for each in told["models"])
    assert told["models"][0]["scores"] == load(Path(model)).card.scores
    assert len({each["scores"]["origins"] for each in told["models"]}) == 1


def test_a_person_sees_a_table_of_scores(series: str, model: str) -> None:
    shown = words(accord("evaluate", "--series", series, "--model", model, "--every-s", 60).stdout)
    assert "Forecast is the highest load of the next 20 s from the last 2 min" in shown
    assert "every 60 s, 18 forecasts" in shown
    assert "┃ model ┃ RMSE/s ┃ SMAPE ┃ pinball/s ┃ covered ┃ 90% width/s ┃" in shown
    assert "│ linear │" in shown


def test_who_scores_a_model_on_what_it_learned_is_told(series: str, model: str) -> None:
    result = accord("evaluate", "--series", series, "--model", model, "--from", 1000)
    assert result.exit_code == 0
    assert "learned from the load until day 0 01:12:12: scores flatter it" in words(result.stderr)
    after = accord("evaluate", "--series", series, "--model", model)
    assert after.stderr == ""


def test_a_picture_is_drawn(series: str, model: str, tmp_path: Path) -> None:
    picture = tmp_path / "forecasts.png"
    result = accord("evaluate", "--series", series, "--model", model, "--plot", picture)
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        ((), 2, "there is no series; give --series FILE_OR_URL, or series: in the file of --config"),
        (("--series", "x.csv"), 2, "there is no model; give --model NAME"),
        (("--series", "x.csv", "--model", "linear"), 2, "there is no out; give --out FILE_OR_URL"),
        (("--series", "/nowhere.csv", "--model", "linear", "--out", "x.safetensors"), 2, "cannot read /nowhere.csv"),
        (("--series", "x.csv", "--model", "oracle", "--out", "x.safetensors"), 2, "'oracle' is not known; known are"),
        (("--series", "x.csv", "--model", "linear", "--out", "x.bin"), 1, "a model is a .safetensors file"),
        (
            ("--series", "x", "--model", "ewma", "--out", "x", "--hold-out", "1.5"),
            2,
            "hold_out is 1.5; give a number below 1",
        ),
        (
            ("--series", "x", "--model", "ewma", "--out", "x", "--statistic", "p99"),
            2,
            "statistic is 'p99'; use one of 'max'",
        ),
        (
            ("--series", "x", "--model", "ewma", "--out", "x", "--seed", 2**32),
            2,
            "seed is 4294967296; give a number of at most 4294967295",
        ),
        (("--config", "/nowhere.yaml"), 2, "cannot read /nowhere.yaml"),
    ],
)
def test_a_training_that_cannot_be_is_refused_in_words(
    arguments: tuple[str, ...], exit_code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = accord("train", *arguments)
    assert result.exit_code == exit_code
    assert message in words(result.stderr)
    assert "Traceback" not in result.stderr
    assert json.loads(accord("train", *arguments, "--json").stdout)["error"]


@pytest.mark.parametrize("model", ["constant", "linear", "seasonal_naive"])
def test_a_window_too_long_for_the_series_is_refused_in_words(model: str, tmp_path: Path) -> None:
    series, out = tmp_path / "load.csv", tmp_path / "model.safetensors"
    series.write_text("requests_per_s\n" + "50\n" * 9000)
    options = ("--series", series, "--model", model, "--out", out, "--window-s", 3600)
    result = accord("train", *options)
    assert result.exit_code == 1
    assert "has 9000 s observed, which makes too few examples for" in words(result.stderr)
    assert "give at least 12050 s in one piece, of which 3600 s are held out, or a shorter" in words(result.stderr)
    assert "Traceback" not in result.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not YAML"),
        ("[]", "must hold options"),
        ("modell: lstm", "has modell, which is no option; known are series, endpoint, step_s"),
        ("{series: a, model: lstm, out: b, step_s: often}", "step_s is 'often'; give a whole number"),
        ("{series: a, model: lstm, out: b.safetensors, start: noon}", "start 'noon' is no instant"),
        ("{series: a, model: lstm, out: b.safetensors, start: 1e300}", "start '1e300' is no instant of the years 1 to"),
        ("{series: a, model: lstm, out: b.safetensors, start: 9999-12-31}", "is no instant of the years 1 to 2999"),
        (
            "{series: a, model: lstm, out: b.safetensors, context_s: 125}",
            "context_s 125 is not a multiple of block_s 10",
        ),
    ],
)
def test_a_file_of_options_that_is_wrong_is_refused_in_words(content: str, message: str, tmp_path: Path) -> None:
    config = tmp_path / "job.yaml"
    config.write_text(content)
    result = accord("train", "--config", config)
    assert result.exit_code == 2
    assert message in words(result.stderr)


def test_the_beginning_of_a_file_without_times_is_an_instant(tmp_path: Path) -> None:
    config = tmp_path / "job.yaml"
    config.write_text("{series: a, model: lstm, out: b, start: 2026-01-31T13:00:00+01:00}")
    assert read_job({}, config).start_s == 1_769_860_800
    assert read_job({"start": "2026-01-31T12:00"}, config).start_s == 1_769_860_800
    assert read_job({"start": "7"}, config).start_s == 7


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("--model", "MODEL"), 2, "there is no series to score on"),
        (("--series", "SERIES"), 2, "there is no model to score"),
        (("--series", "SERIES", "--model", "/nowhere"), 1, "cannot read the forecaster /nowhere"),
        (("--series", "SERIES", "--model", "SERIES"), 1, "cannot read the forecaster"),
        (("--series", "SERIES", "--model", "MODEL", "--from", "noon"), 2, "--from 'noon' is no instant"),
        (("--series", "SERIES", "--model", "MODEL", "--from", "inf"), 2, "--from 'inf' is no instant"),
        (("--series", "SERIES", "--model", "MODEL", "--start", "1e300"), 2, "--start '1e300' is no instant"),
        (("--series", "SERIES", "--model", "MODEL", "--from", "1e6"), 1, "nothing to forecast from day 11 13:46:40"),
        (("--series", "SERIES", "--model", "MODEL", "--plot", "x.bmp"), 2, "give a file that ends in .png"),
        (("--series", "SERIES", "--model", "MODEL", "--plot", "/nowhere/x.png"), 2, "there is no folder /nowhere"),
    ],
)
def test_a_test_that_cannot_be_is_refused_in_words(
    arguments: tuple[str, ...], exit_code: int, message: str, series: str, model: str
) -> None:
    meant = {"SERIES": series, "MODEL": model}
    result = accord("evaluate", *(meant.get(each, each) for each in arguments))
    assert result.exit_code == exit_code
    assert message in words(result.stderr)
    assert "Traceback" not in result.stderr


def test_a_series_that_ends_before_the_model_stopped_learning_needs_an_instant_to_begin_with(
    model: str, tmp_path: Path
) -> None:
    short = tmp_path / "short.csv"
    short.write_text("requests_per_s\n" + "50\n" * 600)
    result = accord("evaluate", "--series", short, "--model", model)
    assert result.exit_code == 2
    assert "give --from to score it nevertheless, or --start" in words(result.stderr)
    assert accord("evaluate", "--series", short, "--model", model, "--start", "2026-01-31").exit_code == 0


def test_models_that_do_not_forecast_the_same_are_not_compared(series: str, model: str, tmp_path: Path) -> None:
    other = tmp_path / "mean.safetensors"
    accord("train", "--series", series, "--model", "ewma", "--statistic", "mean", "--out", other)
    result = accord("evaluate", "--series", series, "--model", model, "--model", other)
    assert result.exit_code == 2
    assert "do not forecast the same, statistic is max and mean" in words(result.stderr)

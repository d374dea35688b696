from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from predictor.examples import examples_of
from predictor.plot import Panel, save_predictions
from predictor.predictor import Prediction
from serve_app.cli.plots import SUFFIXES
from slowdown_scene import measured


def panel(off: float, machines: tuple[str, ...] = ("small", "large")) -> Panel:
    truth = examples_of(measured(machines, triples=5))
    rng = np.random.default_rng(0)
    predicted = truth.slowdown + rng.normal(0, off, len(truth))
    return truth, Prediction(predicted, np.full(len(truth), off)), off


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_picture_is_written_in_the_format_of_its_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"plot{suffix}"
    save_predictions(path, {"forest.safetensors": panel(0.02)})
    begins = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    content = path.read_bytes()
    assert content.startswith(begins)
    assert len(content) > 5000


def test_the_words_of_a_picture_say_whose_predictions_and_which_machine_types(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    save_predictions(path, {"a.safetensors": panel(0.02), "b.safetensors": panel(0.2, ("middle",))})
    words = path.read_text()
    for part in ("a.safetensors", "mean absolute error 0.0200", "b.safetensors", "0.2000", "small", "middle", "large"):
        assert f"<!-- {part}" in words or part in words
    assert words.count("<!-- small -->") == 1, "one legend for all panels"


def test_a_panel_more_makes_the_picture_wider(tmp_path: Path) -> None:
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    save_predictions(one, {"a": panel(0.02)})
    save_predictions(two, {"a": panel(0.02), "b": panel(0.2)})
    (height, width, _), (other_height, other_width, _) = imread(one).shape, imread(two).shape
    assert other_height == height
    assert other_width > 1.7 * width

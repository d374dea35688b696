"""The training script learns, exports and describes what it exported."""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
import torch

from catalog.zoo import train
from catalog.zoo.digits import held_out
from catalog.zoo.networks import RECIPES, Classifier
from catalog.zoo.train import accuracy, entry, export, fit


@pytest.fixture(scope="module")
def body() -> torch.nn.Module:
    """The smallest network after four passes."""
    return fit(replace(RECIPES[0], epochs=4), 1, lambda: None)


def test_four_passes_are_already_better_than_chance(
    body: torch.nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "ZOO", tmp_path)
    export(body, tmp_path / "model.onnx")
    assert accuracy(tmp_path / "model.onnx") > 0.2
    assert b"site-packages" not in (tmp_path / "model.onnx").read_bytes(), "files tell nothing of the machine"
    assert entry(tmp_path / "model.onnx")["artifact"]["uri"] == "model.onnx"


def test_the_same_seed_gives_the_same_weights(body: torch.nn.Module) -> None:
    again = fit(replace(RECIPES[0], epochs=4), 1, lambda: None)
    torch.testing.assert_close(list(again.parameters()), list(body.parameters()))


def test_every_epoch_is_reported() -> None:
    epochs: list[None] = []
    fit(replace(RECIPES[0], epochs=3), 1, lambda: epochs.append(None))
    assert len(epochs) == 3


def test_an_exported_file_stands_alone_and_has_a_free_batch_axis(body: torch.nn.Module, tmp_path: Path) -> None:
    export(body, tmp_path / "model.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    graph = onnx.load(tmp_path / "model.onnx").graph
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param
    assert (len(graph.input), len(graph.output)) == (1, 2)


def test_an_exported_file_answers_as_the_network_does(body: torch.nn.Module, tmp_path: Path) -> None:
    export(body, tmp_path / "model.onnx")
    images, labels = held_out()
    with torch.no_grad():
        found = Classifier(body).eval()(torch.from_numpy(images))[0].numpy()
    assert accuracy(tmp_path / "model.onnx") == pytest.approx((found == labels).mean(), abs=0.001)

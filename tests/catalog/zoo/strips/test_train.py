"""The training of finders learns, and its networks answer with peaks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from catalog.zoo import exported
from catalog.zoo.session import session
from catalog.zoo.strips.finders import RECIPES, Finder, Recipe
from catalog.zoo.strips.layout import HEIGHT, WIDTH
from catalog.zoo.strips.measures import found_share
from catalog.zoo.strips.strips import sample_strips
from catalog.zoo.strips.train import fit, targets


class Fixed(torch.nn.Module):  # type: ignore[misc]  # mypy does not read torch
    """Gives the same logits for every image and remembers what it was shown."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self._logits = logits
        self.seen = torch.empty(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = x
        return self._logits.repeat(len(x), 1)


@pytest.fixture(scope="module")
def finder() -> Finder:
    """The second smallest network after 3000 strips."""
    return fit(replace(RECIPES[1], strips=3000), lambda _share: None)


def test_some_strips_are_found_after_little_training(finder: Finder, tmp_path: Path) -> None:
    strips = sample_strips("dev", 200, 1)
    with torch.no_grad():
        starts = finder(torch.from_numpy(strips.images)).numpy()
    assert found_share(strips, starts) > 0.3
    sample = torch.zeros(2, HEIGHT, WIDTH, dtype=torch.uint8)
    exported.export(finder, sample, tmp_path / "finder.onnx", "image", ["starts"])
    (from_file,) = session(tmp_path / "finder.onnx").run(["starts"], {"image": strips.images})
    assert from_file == pytest.approx(starts, abs=1e-4)


def test_the_same_recipe_gives_the_same_weights(finder: Finder) -> None:
    again = fit(replace(RECIPES[1], strips=3000), lambda _share: None)
    torch.testing.assert_close(again.state_dict(), finder.state_dict())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_every_network_scores_every_column(recipe: Recipe) -> None:
    scores = Finder(recipe.build()).eval()(torch.zeros(3, HEIGHT, WIDTH, dtype=torch.uint8))
    assert (scores.shape, scores.dtype) == ((3, WIDTH), torch.float32)


def test_only_columns_that_score_highest_near_by_score_at_all() -> None:
    logits = torch.full((1, WIDTH), -5.0)
    logits[0, [10, 12, 20, 40]] = torch.tensor([3.0, 2.0, 1.0, 0.0])
    finder = Finder(Fixed(logits))
    finder.threshold.fill_(1.0)
    scores = finder(torch.zeros(1, HEIGHT, WIDTH, dtype=torch.uint8))[0]
    assert scores[[10, 12, 20, 40]].tolist() == pytest.approx([0.881, 0.0, 0.5, 0.269], abs=1e-3)


def test_a_body_sees_one_channel_between_0_and_1() -> None:
    body = Fixed(torch.zeros(1, WIDTH))
    Finder(body)(torch.full((2, HEIGHT, WIDTH), 16, dtype=torch.uint8))
    assert body.seen.shape == (2, 1, HEIGHT, WIDTH)
    assert body.seen.unique().tolist() == [1.0]


def test_a_finder_is_taught_starts_and_half_their_neighbours() -> None:
    strips = sample_strips("train", 3, 2)
    wanted = targets(strips)
    for row, starts in enumerate(strips.starts):
        columns = starts[starts >= 0]
        assert np.flatnonzero(wanted[row] == 1.0).tolist() == columns.tolist()
        assert np.flatnonzero(wanted[row] == 0.5).tolist() == sorted([*(columns - 1), *(columns + 1)])

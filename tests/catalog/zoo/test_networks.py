"""Networks scale, classify and vote as their docstrings say."""

import pytest
import torch

from catalog.zoo.networks import RECIPES, Classifier, Ensemble, Recipe


class Fixed(torch.nn.Module):  # type: ignore[misc]  # mypy does not read torch
    """Gives the same logits for every image and remembers what it was shown."""

    def __init__(self, logits: list[float]) -> None:
        super().__init__()
        self._logits = torch.tensor(logits)
        self.seen = torch.empty(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = x
        return self._logits.repeat(len(x), 1)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_every_network_gives_labels_and_probabilities(recipe: Recipe) -> None:
    label, probabilities = Classifier(recipe.build()).eval()(torch.zeros(3, 12, 12))
    assert (label.shape, label.dtype) == ((3,), torch.int64)
    assert (probabilities.shape, probabilities.dtype) == ((3, 10), torch.float32)


def test_a_body_sees_one_channel_between_0_and_1() -> None:
    body = Fixed([0.0] * 10)
    Classifier(body)(torch.full((2, 12, 12), 16.0))
    assert body.seen.shape == (2, 1, 12, 12)
    assert body.seen.unique().tolist() == [1.0]


def test_an_ensemble_answers_with_the_mean_of_the_probabilities() -> None:
    members = [Fixed([0.0, 1.0, 5.0]), Fixed([2.0, 1.0, -1.0])]
    found = Ensemble(members)(torch.zeros(1, 1, 12, 12)).softmax(dim=1)
    expected = torch.stack([member(torch.zeros(1)).softmax(dim=1) for member in members]).mean(dim=0)
    torch.testing.assert_close(found, expected)

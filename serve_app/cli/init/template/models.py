"""Two variants of one task: which digit is on an image of 8 x 8 pixels, each 0 to 16. Put your own in their place.

`setup` is called once in every worker, `predict` with every batch: arrays by the names in catalogue.yaml, with as many
rows as the batch has queries. The arrays are read-only.
"""

from pathlib import Path

import numpy as np

WEIGHTS = Path(__file__).parent / "weights.npz"


class Linear:
    """Logistic regression: fast."""

    def setup(self, device):
        with np.load(WEIGHTS) as file:
            self.weights, self.bias = file["weights"], file["bias"]

    def predict(self, inputs):
        pixels = inputs["image"].reshape(-1, 64)
        scores = pixels @ self.weights + self.bias
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        return answer(likely / likely.sum(axis=1, keepdims=True))


class Neighbours:
    """The five most similar of the known images: slower, and right more often."""

    def setup(self, device):
        with np.load(WEIGHTS) as file:
            self.images, self.digits = file["images"], np.eye(10, dtype=np.float32)[file["digits"]]
        self.squares = (self.images**2).sum(axis=1)

    def predict(self, inputs):
        pixels = inputs["image"].reshape(-1, 64)
        distances = self.squares - 2 * pixels @ self.images.T
        nearest = np.argpartition(distances, 5, axis=1)[:, :5]
        return answer(self.digits[nearest].mean(axis=1))


def answer(probabilities):
    return {"label": probabilities.argmax(axis=1), "probabilities": probabilities}

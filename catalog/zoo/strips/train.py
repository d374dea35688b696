"""Makes the strips' models anew: ``python -m catalog.zoo.strips.train`` trains, exports and measures every variant.

Takes about ten minutes on one core. Writes ``models/strip-*.onnx`` and the entries of ``catalogue.yaml`` in the folder
above. The seeds are fixed, yet another CPU or torch version gives slightly different weights.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from rich.progress import Progress, TimeElapsedColumn
from torch.nn import functional

from catalog.zoo import exported
from catalog.zoo.strips.checkers import GRAPHS
from catalog.zoo.strips.finders import RECIPES, Finder, Recipe
from catalog.zoo.strips.layout import CHECK, FIND, HEIGHT, MAX_DIGITS, WIDTH
from catalog.zoo.strips.measures import (
    MODELS,
    checker_accuracy,
    finder_accuracy,
    found_share,
    measured_strips,
    true_starts,
)
from catalog.zoo.strips.strips import MEASURED_STRIPS, Strips, sample_strips

ZOO = Path(__file__).parent.parent

_BATCH_SIZE = 64
_WEIGHT_DECAY = 0.02
_NEIGHBOUR_TARGET = 0.5

_IMAGE: exported.Tensors = {"image": ("UINT8", (-1, HEIGHT, WIDTH))}
_STARTS: exported.Tensors = {"starts": ("FP32", (-1, WIDTH))}
_READINGS: exported.Tensors = {"probabilities": ("FP32", (-1, MAX_DIGITS, 10)), "length": ("INT64", (-1,))}
_NUMBER: exported.Tensors = {"digits": ("INT64", (-1, MAX_DIGITS)), "valid": ("BOOL", (-1,))}


def fit(recipe: Recipe, on_share: Callable[[float], object]) -> Finder:
    """A trained finder; a fixed number of strips, all different, and a threshold chosen on others of the same split."""
    torch.manual_seed(0)
    finder = Finder(recipe.build())
    finder.train()
    steps = recipe.strips // _BATCH_SIZE
    optimizer = torch.optim.AdamW(finder.parameters(), weight_decay=_WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.learning_rate, steps)
    for step in range(steps):
        strips = sample_strips("train", _BATCH_SIZE, seed=1000 + step)
        optimizer.zero_grad()
        logits = finder.logits(torch.from_numpy(strips.images))
        functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(targets(strips))).backward()
        optimizer.step()
        schedule.step()
        on_share((step + 1) / steps)
    _choose_threshold(finder.eval())
    return finder


def targets(strips: Strips) -> NDArray[np.float32]:
    """What a finder is taught: 1 where a digit starts, less in the columns beside it, 0 elsewhere: [N, 128]."""
    starts = true_starts(strips)
    beside = np.maximum(np.roll(starts, 1, axis=1), np.roll(starts, -1, axis=1))  # no digit starts at either end
    return np.maximum(starts, _NEIGHBOUR_TARGET * beside)


def _choose_threshold(finder: Finder) -> None:
    """The threshold with which most training strips are found."""
    strips = measured_strips("train")
    shares = {}
    with torch.no_grad():
        finder.threshold.fill_(0.0)
        scores = finder(torch.from_numpy(strips.images)).numpy()
    for threshold in np.arange(0.02, 0.9, 0.02):
        shares[float(threshold)] = found_share(strips, np.where(scores > threshold, 1.0, 0.0))
    best = max(shares, key=lambda threshold: shares[threshold])
    finder.threshold.fill_(float(np.log(best / (1 - best))))


def main() -> None:
    """Make every variant and its entry in the catalogue."""
    torch.set_num_threads(1)
    entries = []
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn()) as progress:
        for recipe in RECIPES:
            bar = progress.add_task(recipe.name, total=1.0)
            finder = fit(recipe, lambda share, bar=bar: progress.update(bar, completed=share))  # type: ignore[misc]
            path = MODELS / f"{recipe.name}.onnx"
            exported.export(finder, torch.zeros(2, HEIGHT, WIDTH, dtype=torch.uint8), path, "image", ["starts"])
            entries.append(exported.catalogue_entry(FIND, path, ZOO, finder_accuracy(path), _IMAGE, _STARTS))
    for name, model in GRAPHS.items():
        path = MODELS / f"{name}.onnx"
        onnx.save(model(), path)
        entries.append(exported.catalogue_entry(CHECK, path, ZOO, checker_accuracy(path), _READINGS, _NUMBER))
    exported.write_entries(ZOO / "catalogue.yaml", entries, MEASURED_STRIPS, "test strips")
    for entry in entries:
        print(f"{entry['name']}: {100 * entry['accuracy']:.2f} %")


if __name__ == "__main__":
    main()

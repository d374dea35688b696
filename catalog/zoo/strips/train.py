"""Makes the strips' models anew: ``python -m catalog.zoo.strips.train`` trains, exports and measures every variant.

Takes about ten minutes on one core. Writes ``models/strip-*.onnx`` and the entries of ``catalogue.yaml`` in the folder
above. The seeds are fixed, yet another CPU or torch version gives slightly different weights.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from torch.nn import functional

from catalog.zoo.strips.adapters import PRESENT
from catalog.zoo.strips.finders import Finder, Recipe
from catalog.zoo.strips.layout import WIDTH
from catalog.zoo.strips.strips import MEASURED_STRIPS, SEEDS, Strips, sample_strips

_BATCH_SIZE = 64
_WEIGHT_DECAY = 0.02
_NEIGHBOUR_TARGET = 0.5
_TOLERANCE_PX = 2


def fit(recipe: Recipe, on_share: Callable[[float], object]) -> Finder:
    """A trained finder; a fixed number of strips, all different, and a threshold chosen on others of the same split."""
    torch.manual_seed(0)
    finder = Finder(recipe.build()).train()
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
    finder.eval()
    _choose_threshold(finder)
    return finder


def targets(strips: Strips) -> NDArray[np.float32]:
    """What a finder is taught: 1 where a digit starts, less in the columns beside it, 0 elsewhere: [N, 128]."""
    wanted = np.zeros((len(strips.images), WIDTH + 2), dtype=np.float32)
    rows, places = np.nonzero(strips.starts >= 0)
    columns = strips.starts[rows, places] + 1
    wanted[rows, columns - 1] = wanted[rows, columns + 1] = _NEIGHBOUR_TARGET
    wanted[rows, columns] = 1.0
    return wanted[:, 1:-1]


def _choose_threshold(finder: Finder) -> None:
    """The threshold with which most training strips are found."""
    strips = sample_strips("train", MEASURED_STRIPS, SEEDS["train"])
    shares = {}
    with torch.no_grad():
        finder.threshold.fill_(0.0)
        scores = finder(torch.from_numpy(strips.images)).numpy()
    for threshold in np.arange(0.02, 0.9, 0.02):
        shares[float(threshold)] = found_share(strips, np.where(scores > threshold, 1.0, 0.0))
    best = max(shares, key=lambda threshold: shares[threshold])
    finder.threshold.fill_(float(np.log(best / (1 - best))))


def found_share(strips: Strips, starts: NDArray[np.floating]) -> float:
    """Share of the strips whose digits are all found, each within 2 columns, and nothing else."""
    found = starts > PRESENT
    counts = found.sum(axis=1)
    columns = np.full_like(strips.starts, -1)
    alike = counts == strips.lengths
    rows, at = np.nonzero(found & alike[:, None])
    columns[rows, np.arange(len(rows)) - np.searchsorted(rows, rows)] = at
    return float((alike & (np.abs(columns - strips.starts) <= _TOLERANCE_PX).all(axis=1)).mean())


def session(path: Path) -> onnxruntime.InferenceSession:
    """An exported model on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

"""Makes the zoo anew: ``python -m catalog.zoo.train`` trains, exports and measures every variant.

Takes about ten minutes on two cores. Writes ``models/digits-*.onnx`` and the entries of ``catalogue.yaml`` beside this
file. The seeds are fixed, yet another CPU or torch version gives slightly different weights.
"""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn
from rich.table import Table
from torch import nn
from torch.nn import functional

from catalog.zoo import digits, exported, networks
from catalog.zoo.session import session

ZOO = Path(__file__).parent
VOTES = "digits_votes.csv"
"""Recorded anew after training: ``accord evaluate builtin --task digits --data builtin --split dev``: ``votes.csv``."""

_THREADS = 2
_BATCH_SIZE = 64
_LABEL_SMOOTHING = 0.05
_WEIGHT_DECAY = 0.05


def fit(recipe: networks.Recipe, seed: int, on_epoch: Callable[[], object]) -> nn.Module:
    """A trained body of ``recipe``; a fixed number of epochs, so that nothing is chosen by looking at any score."""
    torch.manual_seed(seed)
    body = recipe.build()
    model = networks.Classifier(body).train()
    steps_per_epoch = len(digits.split()[0]) // _BATCH_SIZE
    steps = recipe.epochs * steps_per_epoch
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=_WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.learning_rate, steps)
    for step, (images, labels) in enumerate(islice(digits.training(seed, _BATCH_SIZE), steps), start=1):
        optimizer.zero_grad()
        logits = model.logits(torch.from_numpy(images))
        loss = functional.cross_entropy(logits, torch.from_numpy(labels), label_smoothing=_LABEL_SMOOTHING)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % steps_per_epoch == 0:
            on_epoch()
    return body.eval()


def export(body: nn.Module, path: Path) -> None:
    """Write a classifier to a file."""
    sample = torch.zeros(2, digits.SIDE, digits.SIDE)
    exported.export(networks.Classifier(body), sample, path, "image", ["label", "probabilities"])


def accuracy(path: Path) -> float:
    """Share of the held-out images that an exported file gets right, by onnxruntime on one thread."""
    images, labels = digits.held_out()
    found = session(path).run(["label"], {"image": images})[0]
    return float((found == labels).mean())


def entry(path: Path) -> dict[str, Any]:
    """What the catalogue says of an exported file."""
    image: exported.Tensors = {"image": ("FP32", (-1, digits.SIDE, digits.SIDE))}
    given: exported.Tensors = {"label": ("INT64", (-1,)), "probabilities": ("FP32", (-1, len(digits.LABELS)))}
    return exported.catalogue_entry("digits", path, ZOO, accuracy(path), image, given, digits.LABELS)


def make(recipe: networks.Recipe, on_epoch: Callable[[], object]) -> dict[str, Any]:
    """Train and export one variant; its entry in the catalogue."""
    bodies = [fit(recipe, seed, on_epoch) for seed in range(recipe.members)]
    path = ZOO / "models" / f"{recipe.name}.onnx"
    path.parent.mkdir(exist_ok=True)
    export(bodies[0] if len(bodies) == 1 else networks.Ensemble(bodies), path)
    return entry(path)


def main() -> None:
    """Make every variant and the catalogue."""
    torch.set_num_threads(_THREADS)
    table = Table("variant", "accuracy %", "KB")
    variants = []
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn()) as progress:
        total = progress.add_task("", total=sum(recipe.epochs * recipe.members for recipe in networks.RECIPES))
        for recipe in networks.RECIPES:
            progress.update(total, description=recipe.name)
            made = make(recipe, lambda: progress.advance(total))
            size_bytes = (ZOO / made["artifact"]["uri"]).stat().st_size
            table.add_row(recipe.name, f"{100 * made['accuracy']:.2f}", f"{size_bytes / 1e3:.0f}")
            variants.append(made)
    exported.write_entries(ZOO / "catalogue.yaml", variants, len(digits.held_out()[1]), "held-out digits")
    Console().print(table)


if __name__ == "__main__":
    main()

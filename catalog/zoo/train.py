"""Makes the zoo anew: ``python -m catalog.zoo.train`` trains, exports and measures every variant.

Takes about ten minutes on two cores. Writes ``catalogue.yaml`` and ``models/*.onnx`` beside this file. The seeds are
fixed, yet another CPU or torch version gives slightly different weights.
"""

import logging
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import torch
import yaml
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn
from rich.table import Table
from torch import nn
from torch.nn import functional

from catalog.store import checksum
from catalog.zoo import digits, networks

ZOO = Path(__file__).parent
VOTES = "digits_votes.csv"
"""Recorded anew after training: ``accord votes record builtin --task digits --data builtin --split dev --out FILE``."""

_THREADS = 2
_BATCH_SIZE = 64
_LABEL_SMOOTHING = 0.05
_WEIGHT_DECAY = 0.05
_OPSET = 18


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
    """Write one self-contained ONNX file with a free batch axis."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision, which nothing here needs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own deprecations
        torch.onnx.export(
            networks.Classifier(body).eval(),
            (torch.zeros(2, digits.SIDE, digits.SIDE),),
            path,
            input_names=["image"],
            output_names=["label", "probabilities"],
            opset_version=_OPSET,
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            external_data=False,
            verbose=False,
        )
    _forget_where_it_was_made(path)


def _forget_where_it_was_made(path: Path) -> None:
    """Take out the exporter's stack traces: they name folders of the machine, and are up to half of a small file."""
    model = onnx.load(path)
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    onnx.save(model, path)


def accuracy(path: Path) -> float:
    """Share of the held-out images that an exported file gets right, by onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    images, labels = digits.held_out()
    found = session.run(["label"], {"image": images})[0]
    return float((found == labels).mean())


def entry(name: str, path: Path) -> dict[str, Any]:
    """What the catalogue says of an exported file."""
    return {
        "name": name,
        "task": "digits",
        "runtime": "onnx",
        "artifact": {"uri": path.relative_to(ZOO).as_posix(), "sha256": checksum(path)},
        "accuracy": round(accuracy(path), 4),
        "labels": list(digits.LABELS),
        "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, digits.SIDE, digits.SIDE]}],
        "outputs": [
            {"name": "label", "datatype": "INT64", "shape": [-1]},
            {"name": "probabilities", "datatype": "FP32", "shape": [-1, len(digits.LABELS)]},
        ],
    }


def make(recipe: networks.Recipe, on_epoch: Callable[[], object]) -> dict[str, Any]:
    """Train and export one variant; its entry in the catalogue."""
    bodies = [fit(recipe, seed, on_epoch) for seed in range(recipe.members)]
    path = ZOO / "models" / f"{recipe.name}.onnx"
    path.parent.mkdir(exist_ok=True)
    export(bodies[0] if len(bodies) == 1 else networks.Ensemble(bodies), path)
    return entry(recipe.name, path)


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
    file = {"version": 1, "votes": {"digits": VOTES}, "variants": variants}
    text = yaml.safe_dump(file, sort_keys=False, default_flow_style=None, width=120)
    header = "# Written by `python -m catalog.zoo.train`; see README.md beside this file.\n"
    (ZOO / "catalogue.yaml").write_text(header + text, encoding="utf-8")
    Console().print(table)


if __name__ == "__main__":
    main()

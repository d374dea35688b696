"""Model files of the zoo and the catalogue that names them."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
import yaml
from pydantic import TypeAdapter
from torch import nn

from catalog.evaluation.accuracy_file import (
    MeasuredAccuracies,
    accuracy_path,
    measured_share,
    read_accuracies,
    write_accuracies,
)
from catalog.store import checksum
from catalog.variant import Variant

OPSET = 18
_HEADER = "# Written by `python -m catalog.zoo.train` and `python -m catalog.zoo.strips.train`; see README.md.\n"

_VARIANT = TypeAdapter(Variant)

Tensors = Mapping[str, tuple[str, Sequence[int]]]
"""Datatype and shape of tensors by name."""


def export(model: nn.Module, sample: torch.Tensor, path: Path, taken: str, given: Sequence[str]) -> None:
    """Write one self-contained ONNX file with a free batch axis, input ``taken`` and outputs ``given``."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision, which nothing here needs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own deprecations
        torch.onnx.export(
            model.eval(),
            (sample,),
            path,
            input_names=[taken],
            output_names=list(given),
            opset_version=OPSET,
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


def catalogue_entry(
    task: str, path: Path, root: Path, accuracy: float, taken: Tensors, given: Tensors, labels: Sequence[str] = ()
) -> dict[str, Any]:
    """What the catalogue in ``root`` says of the variant in the file ``path``, which is called like it."""
    return {
        "name": path.stem,
        "task": task,
        "runtime": "onnx",
        "artifact": {"uri": path.relative_to(root).as_posix(), "sha256": checksum(path)},
        "accuracy": round(accuracy, 4),
        **({"labels": list(labels)} if labels else {}),
        "inputs": _described(taken),
        "outputs": _described(given),
    }


def _described(tensors: Tensors) -> list[dict[str, Any]]:
    return [{"name": name, "datatype": kind, "shape": list(shape)} for name, (kind, shape) in tensors.items()]


def write_entries(catalogue: Path, entries: Sequence[Mapping[str, Any]], examples: int, data: str) -> None:
    """Put ``entries`` into a catalogue file, in place of all that it had of their tasks; the others stay.

    Their accuracies were measured on so many examples of ``data``, which the file beside it says.
    """
    content = yaml.safe_load(catalogue.read_text(encoding="utf-8"))
    tasks = {entry["task"] for entry in entries}
    kept = content["variants"]
    first = next((index for index, entry in enumerate(kept) if entry["task"] in tasks), len(kept))
    before, after = ([entry for entry in part if entry["task"] not in tasks] for part in (kept[:first], kept[first:]))
    content["variants"] = [*before, *entries, *after]
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=120)
    catalogue.write_text(_HEADER + text, encoding="utf-8")
    found = read_accuracies(accuracy_path(catalogue))
    names = [entry["name"] for entry in content["variants"]]
    measured = {
        name: measured_share(variant, str(catalogue.parent), variant.accuracy, examples, data)
        for name, variant in ((entry["name"], _VARIANT.validate_python(entry)) for entry in entries)
    }
    known = {name: each for name, each in {**found.variants, **measured}.items() if name in names}
    write_accuracies(accuracy_path(catalogue), MeasuredAccuracies(known, found.votes, found.voters))

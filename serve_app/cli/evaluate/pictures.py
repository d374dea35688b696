"""An evaluation as pictures."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from serve_app.cli.evaluate.figures import Evaluated

INK, GRID, POINT = "#333333", "#dddddd", "#4c78a8"

MOST_SHOWN = 40
"""Classes that a picture has room for."""

LONGEST_NAME = 40
"""Characters of a variant's name that a picture has room for."""


def draw_accuracy(found: Evaluated, path: Path) -> None:
    """Accuracy with its 95% interval over the latency of one row."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for name, each in found.variants.items():
        score = each.score
        value = 100 * score.value
        errors = [[max(0.0, value - 100 * score.low)], [max(0.0, 100 * score.high - value)]]
        axes.errorbar(each.latency_ms, value, yerr=errors, fmt="o", color=POINT, capsize=3)
        axes.annotate(
            _short(name), (each.latency_ms, value), xytext=(6, -10), textcoords="offset points", fontsize=8, color=INK
        )
    axes.set_xscale("log")
    axes.set_xlabel("latency of one row, ms (median)")
    axes.set_ylabel(f"{found.metric}, % (bars: 95% interval)")
    figure.suptitle(f"{found.task}, {len(found.labels)} examples of {found.data}", x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=110)


def draw_classes(found: Evaluated, path: Path) -> None:
    """Recall of every class by every variant, and what the most accurate one mistakes each class for."""
    names = list(found.names)[:MOST_SHOWN]
    figure = Figure(figsize=(11, max(4.0, 0.22 * len(names) + 2.5)), layout="constrained")
    left, right = figure.subplots(1, 2)
    recalls = np.array([[found.classes(variant)[name]["recall"] for variant in found.variants] for name in names])
    shown = left.imshow(100 * recalls, aspect="auto", cmap="viridis", vmin=0, vmax=100)
    left.set_xticks(
        range(len(found.variants)), [_short(name) for name in found.variants], rotation=60, ha="right", fontsize=7
    )
    left.set_yticks(range(len(names)), names, fontsize=7)
    left.set_title("recall by class, %", fontsize=10)
    figure.colorbar(shown, ax=left)
    best, figures = next(iter(found.variants.items()))
    assert figures.confusion is not None
    matrix = figures.confusion[: len(names), : len(names)].astype(float)
    matrix /= np.maximum(matrix.sum(axis=1, keepdims=True), 1.0)
    np.fill_diagonal(matrix, np.nan)  # what is right would leave no shades for what is not
    confused = right.imshow(100 * matrix, aspect="auto", cmap="magma_r", vmin=0)
    figure.colorbar(confused, ax=right)
    right.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=7)
    right.set_yticks(range(len(names)), names, fontsize=7)
    right.set_xlabel("taken for")
    right.set_ylabel("true class")
    right.set_title(f"{_short(best)}: what each class is mistaken for, %", fontsize=10)
    figure.savefig(path, dpi=110)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."

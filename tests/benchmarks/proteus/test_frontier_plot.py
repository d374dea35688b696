"""Rows without violations or answers can be drawn, too."""

from pathlib import Path
from typing import Any

from benchmarks.proteus.frontier_plot import save_frontier


def row(ratio: float, drop: float | None) -> dict[str, Any]:
    point = {"slo_violation_ratio": ratio, "max_accuracy_drop_pct": drop}
    spread = {metric: None if value is None else [value, value] for metric, value in point.items()}
    return {**point, "spread": spread, "frontier": [{"headroom": 1.0, **point}]}


def test_every_row_can_be_drawn(tmp_path: Path) -> None:
    rows = {"proteus": row(0.01, 3.0), "clipper_ht": row(0.0, 18.0), "clipper_ha": row(1.0, None)}
    save_frontier(tmp_path / "frontier.png", "a trace", rows)
    assert (tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")

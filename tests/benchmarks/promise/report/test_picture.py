"""The picture can be drawn of whatever was measured."""

from pathlib import Path

from benchmarks.promise.report.picture import save_picture
from promise_scene import case


def test_a_panel_per_condition_even_where_a_figure_is_missing(tmp_path: Path) -> None:
    cases = [
        case(policy, violations_pct, condition=condition, share=share)
        for condition in ("as_is", "bursts")
        for share, violations_pct in ((0.3, 0.0), (1.0, None))
        for policy in ("ramsis", "greedy")
    ]
    save_picture(tmp_path / "cases.png", cases)
    assert (tmp_path / "cases.png").stat().st_size > 10_000

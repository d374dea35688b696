from typing import Any

import pytest

from benchmarks.interference.goals import goals

MET: dict[str, Any] = {
    "unified_mae": 0.04,
    "mean_mae": 0.2,
    "spread": 0.3,
    "placement": {"least_loaded": 10.0, "interference_aware": 4.0, "oracle": 3.9},
    "active_saving_pct": 31.0,
}


def test_all_may_be_met() -> None:
    assert goals(MET) == {
        "error": True,
        "better_than_mean": True,
        "below_least_loaded": True,
        "near_oracle": True,
        "fewer_measurements": True,
    }


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"unified_mae": 0.06, "mean_mae": 1.0}, {"error"}),
        ({"unified_mae": 0.06, "mean_mae": 1.0, "spread": 0.7}, set()),
        ({"unified_mae": 0.05, "mean_mae": 1.0}, {"error"}),
        ({"mean_mae": 0.119}, {"better_than_mean"}),
        ({"placement": {"least_loaded": 10.0, "interference_aware": 5.1, "oracle": 5.0}}, {"below_least_loaded"}),
        ({"placement": {"least_loaded": 10.0, "interference_aware": 4.9, "oracle": 4.0}}, {"near_oracle"}),
        ({"placement": dict.fromkeys(MET["placement"])}, {"below_least_loaded", "near_oracle"}),
        ({"placement": {"least_loaded": 0.4, "interference_aware": -0.012, "oracle": -0.012}}, set()),
        ({"placement": {"least_loaded": 0.4, "interference_aware": 0.003, "oracle": -0.012}}, {"near_oracle"}),
        ({"placement": {"least_loaded": 0.0, "interference_aware": 0.0, "oracle": 0.0}}, set()),
        ({"active_saving_pct": 29.9}, {"fewer_measurements"}),
        ({"active_saving_pct": None}, {"fewer_measurements"}),
    ],
)
def test_each_may_be_missed_by_itself(changes: dict[str, Any], missed: set[str]) -> None:
    assert {name for name, met in goals(MET | changes).items() if not met} == missed

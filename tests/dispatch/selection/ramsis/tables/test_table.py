"""Decision tables: looking up, waiting, saving."""

import io

import numpy as np
import pytest

from dispatch.selection.ramsis.tables.table import HOLD, DecisionTable
from ramsis_scene import problem


def table(rows: bool = True) -> DecisionTable:
    """Two lengths, three slack steps, two phases; every decision has a number of its own."""
    variant = np.arange(12, dtype=np.uint8).reshape(2, 3, 2)
    batch = np.arange(1, 13, dtype=np.uint8).reshape(2, 3, 2) if rows else None
    return DecisionTable.of(problem(), np.array([0.0, 0.04, 0.1]), variant, batch, 0.8, 0.01)


@pytest.mark.parametrize(
    ("rows", "slack_s", "phase", "expected"),
    [
        (1, 0.0, 0.0, 0),
        (1, -3.0, 0.0, 0),
        (1, 0.0399, 0.5, 1),
        (1, 0.04, 0.0, 2),
        (1, 0.04 - 1e-12, 0.0, 2),
        (1, 0.1, 0.99, 5),
        (1, 7.0, 0.0, 4),
        (2, 0.05, 0.0, 8),
        (9, 0.05, 0.0, 8),
    ],
)
def test_a_state_is_looked_up_at_the_slack_step_below_it(
    rows: int, slack_s: float, phase: float, expected: int
) -> None:
    assert table().lookup(rows, slack_s, phase) == (expected, expected + 1)


def test_every_phase_that_a_balancer_can_tell_hits_its_own_column() -> None:
    phases = 7 * 3
    wide = DecisionTable.of(
        problem(), np.zeros(1), np.arange(phases, dtype=np.uint8).reshape(1, 1, phases), None, 0.8, 0.0
    )
    assert [wide.lookup(1, 0.0, passed / phases)[0] for passed in range(phases)] == list(range(phases))


def test_a_table_without_batches_takes_the_whole_queue_up_to_the_longest_it_knows() -> None:
    assert table(rows=False).lookup(1, 0.1)[1] == 1
    assert table(rows=False).lookup(5, 0.1)[1] == 2


def test_waiting_ends_where_the_table_launches() -> None:
    variant = np.array([[[1], [HOLD], [HOLD]], [[HOLD], [HOLD], [HOLD]]], dtype=np.uint8)
    waiting = DecisionTable.of(problem(), np.array([0.0, 0.04, 0.1]), variant, None, 0.8, 0.0)
    hold_s = waiting.hold_s(1, 0.1, 0.0)
    assert hold_s == pytest.approx(0.06, abs=1e-6)
    assert waiting.lookup(1, 0.1 - hold_s)[0] == 1
    assert waiting.hold_s(2, 0.05, 0.0) == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("rows", [True, False])
def test_a_table_survives_saving_without_pickle(rows: bool) -> None:
    file = io.BytesIO()
    np.savez_compressed(file, **table(rows).arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        back = DecisionTable.from_arrays(arrays)
    original = table(rows)
    assert (back.variants, back.slo_s, back.load_qps) == (original.variants, original.slo_s, original.load_qps)
    assert (back.workers, back.group) == (original.workers, original.group)
    assert (back.expected_accuracy, back.expected_violation_rate) == (0.8, 0.01)
    for state in ((1, 0.0, 0.0), (2, 0.05, 0.5), (9, 1.0, 0.9)):
        assert back.lookup(*state) == original.lookup(*state)


@pytest.mark.parametrize("found", [99, None])
def test_a_table_of_another_version_is_refused(found: int | None) -> None:
    arrays = table().arrays()
    arrays.pop("format")
    if found is not None:
        arrays["format"] = np.array(found)
    with pytest.raises(ValueError, match=f"decision table of format {found}"):
        DecisionTable.from_arrays(arrays)

"""The solved process: which variant and how many rows, by queue length, slack and phase."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.problem import WorkerProblem

FORMAT = 2
"""Version of the arrays below; a table of another version is not read."""

HOLD = 255
"""In place of a variant: wait for the next query."""

SLACK_TOLERANCE_S = 1e-9
"""Slack that is short of a step by less than this has reached it."""

ROUNDING = 1e-6
"""The share of a phase that may be lost when phases are told as shares of the turn."""


@dataclass(frozen=True, eq=False)
class DecisionTable:
    """Decisions of one worker under one load.

    ``variant[n - 1, j, p]`` (uint8) indexes ``variants`` or is `HOLD`, and ``rows[n - 1, j, p]`` (uint8) is the batch,
    for n waiting rows, slack in ``[slack_s[j], slack_s[j + 1])`` and phase p of the balancer's turn; tables that do
    not tell phases apart have one. Without ``rows`` a batch is the whole queue. ``group`` is the round-robin group
    that the table was made for.
    ``expected_accuracy`` is a lower bound of the mean accuracy over queries in time: it counts 0 for those of batches
    that did not fit into the slack when they were launched. Batches that fit and are late all the same (the problem's
    ``late_share``) do not lower it, since they are so on any variant. ``expected_violation_rate`` is an upper bound of
    the share of late queries (section 5.1), which counts both. Both are from 0 to 1. ``settled`` is whether the
    decisions are known to be the best ones: not where the solver came to the end of its work before. The bounds are
    those of the decisions either way.
    """

    variants: tuple[str, ...]
    slo_s: float
    load_qps: float
    workers: int
    group: int
    slack_s: NDArray[np.float64]
    variant: NDArray[np.uint8]
    rows: NDArray[np.uint8] | None
    expected_accuracy: float
    expected_violation_rate: float
    settled: bool = True

    @classmethod
    def of(
        cls,
        problem: WorkerProblem,
        slack_s: NDArray[np.float64],
        variant: NDArray[np.uint8],
        rows: NDArray[np.uint8] | None,
        expected_accuracy: float,
        late_rate: float,
        settled: bool = True,
    ) -> "DecisionTable":
        """The solution of a problem; ``late_rate`` is the share of queries whose batch did not fit into the slack."""
        return cls(
            problem.variants,
            problem.slo_s,
            problem.load_qps,
            problem.workers,
            problem.group,
            slack_s,
            variant,
            rows,
            expected_accuracy,
            late_rate + problem.late_share * (1.0 - late_rate),
            settled,
        )

    @property
    def phases(self) -> int:
        """How many phases are told apart; phase p of a turn with as many steps, or 1."""
        return int(self.variant.shape[2])

    @cached_property
    def _steps(self) -> tuple[tuple[float, ...], bytes, bytes | None, int, int, int]:
        """Slack steps, both arrays as bytes (reading one of an array takes ten times as long), and the shape."""
        shape = self.variant.shape
        batch = None if self.rows is None else self.rows.tobytes()
        slack_s = tuple(float(s) - SLACK_TOLERANCE_S for s in self.slack_s[1:])
        return slack_s, self.variant.tobytes(), batch, *shape

    def lookup(self, rows: int, slack_s: float, phase: float = 0.0) -> tuple[int, int]:
        """Index into ``variants`` and rows of the batch; `HOLD` for the index means to wait.

        Longer queues count as the longest known, slack out of range as the nearest. ``phase`` is how much of the
        balancer's turn has passed, from 0 to below 1.
        """
        steps_s, variant, batch, lengths, steps, phases = self._steps
        length = rows if rows < lengths else lengths
        at = ((length - 1) * steps + bisect_right(steps_s, slack_s)) * phases + int(phase * phases + ROUNDING)
        return variant[at], length if batch is None else batch[at]

    def hold_s(self, rows: int, slack_s: float, phase: float) -> float:
        """For a state in which the table waits: how long it goes on to, if no query comes."""
        steps_s, _, _, lengths, _, phases = self._steps
        at_step = bisect_right(steps_s, slack_s)
        decisions = self.variant[min(rows, lengths) - 1, :at_step, int(phase * phases + ROUNDING)]
        launches = np.flatnonzero(decisions != HOLD)
        last = int(launches[-1]) if len(launches) else -1  # the highest lower slack at which it launches
        return slack_s - steps_s[last] + 2 * SLACK_TOLERANCE_S if last >= 0 else max(slack_s, 0.0) + SLACK_TOLERANCE_S

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that the table is, as arrays that can be saved without pickling; `from_arrays` reads them back."""
        arrays: dict[str, NDArray[np.generic]] = {
            "format": np.array(FORMAT),
            "variants": np.array(self.variants),
            "group": np.array([self.workers, self.group]),
            "settled": np.array(self.settled),
            "numbers": np.array([self.slo_s, self.load_qps, self.expected_accuracy, self.expected_violation_rate]),
            "slack_s": self.slack_s,
            "variant": self.variant,
        }
        return arrays if self.rows is None else arrays | {"rows": self.rows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "DecisionTable":
        """A table from `arrays`; raises ValueError where they are of another version."""
        found = int(arrays["format"]) if "format" in arrays else None
        if found != FORMAT:
            raise ValueError(f"decision table of format {found}; this version reads {FORMAT}: make the table anew")
        slo_s, load_qps, accuracy, violation_rate = (float(number) for number in arrays["numbers"])
        workers, group = (int(number) for number in arrays["group"])
        return cls(
            tuple(str(name) for name in arrays["variants"]),
            slo_s,
            load_qps,
            workers,
            group,
            arrays["slack_s"].astype(np.float64),
            arrays["variant"].astype(np.uint8),
            arrays["rows"].astype(np.uint8) if "rows" in arrays else None,
            accuracy,
            violation_rate,
            bool(arrays["settled"]),
        )

"""What the data path reports to the control path, in a simulation."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from autoscaler.cluster.observation import Statistics, by_endpoint
from catalog.errors import DeadlineMissed, Infeasible, Saturated
from dispatch.commands import Answer, Answers, BatchDone, Reject
from dispatch.query import StageKey


class Traffic:
    """Counts arrivals and violations between reports.

    Arrivals are counted from the arrays that the run plays, ascending, and cost nothing per query; violations as they
    become known.
    """

    def __init__(self, arrivals_s: Mapping[str, NDArray[np.float64]]) -> None:
        self._arrivals_s = arrivals_s
        self._start_s = 0.0
        self._arrived = dict.fromkeys(arrivals_s, 0)
        self._violated: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._expired: Counter[str] = Counter()
        self._stage_rows: Counter[StageKey] = Counter()

    def on_batch(self, done: BatchDone) -> None:
        """A batch ran; counted is which of several stages it was of."""
        stage = done.batch.stage
        if stage.stage:
            self._stage_rows[stage] += done.batch.rows

    def on_answers(self, answers: Answers) -> None:
        """Queries of a batch are answered."""
        batch, done_s = answers.done.batch, answers.done.done_s
        if late := sum([job.query.deadline_s < done_s for job in batch.jobs]):
            self._violated[batch.endpoint] += late

    def on_answer(self, answer: Answer) -> None:
        """A query is answered."""
        if not answer.deadline_met:
            self._violated[answer.query.endpoint] += 1

    def on_reject(self, reject: Reject) -> None:
        """A query is refused, at once or in its queue."""
        self._violated[reject.query.endpoint] += 1
        if isinstance(reject.error, Saturated | Infeasible):
            self._refused[reject.query.endpoint] += 1
        elif isinstance(reject.error, DeadlineMissed):
            self._expired[reject.query.endpoint] += 1

    def report(self, now_s: float) -> Statistics:
        """What happened from the report before, or from 0, up to but not at ``now_s``."""
        before, self._arrived = (
            self._arrived,
            {name: int(np.searchsorted(arrivals_s, now_s)) for name, arrivals_s in self._arrivals_s.items()},
        )
        arrived = {name: count - before[name] for name, count in self._arrived.items()}
        ran = by_endpoint(self._stage_rows)
        refused, expired = dict(self._refused), dict(self._expired)
        statistics = Statistics(self._start_s, now_s, arrived, dict(self._violated), ran, refused, expired)
        self._start_s = now_s
        self._violated.clear()
        self._refused.clear()
        self._expired.clear()
        self._stage_rows.clear()
        return statistics

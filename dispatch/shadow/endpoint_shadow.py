"""The queries of one endpoint that are to be compared with its reference, and what came of that."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dispatch.commands import BatchDone
from dispatch.query import Job
from dispatch.queues.lane import Stage
from dispatch.selection.policy import Candidate
from dispatch.shadow.agreement import Agreement, Baseline
from dispatch.shadow.rules import Right, ShadowRules

MOST_WAITING = 8
"""Drawn queries that wait for spare capacity at a time; a new one takes the place of the oldest."""

PATIENCE_S = 10.0
"""A drawn query waits for spare capacity for so long."""


class Sample(NamedTuple):
    """A query that was answered, and is to be compared."""

    job: Job
    variant: str  # which answered
    said: Sequence[int]  # the class of each row
    drawn_s: float


class EndpointShadow:
    """Draws queries that another variant than the ``reference`` answered, and counts how often both agree.

    The reference is the most accurate variant that a worker holds; None while there is only one to choose from.
    ``agreements`` are by variant and reference, both offered by the plan with the accuracies that they had when these
    began. ``drawn`` queries are ``compared`` in the end, or ``dropped``, for want of spare capacity or because the run
    came to nothing.
    """

    def __init__(self, rules: ShadowRules) -> None:
        self.rules = rules
        self.reference: Candidate | None = None
        self.agreements: dict[tuple[str, str], Agreement] = {}
        self.drawn = self.compared = self.dropped = 0
        self.waiting: deque[Sample] = deque()
        self._generator = np.random.Generator(np.random.PCG64(rules.seed))
        self._skip = self._gap() - 1  # queries until the next is drawn
        self._accuracies: dict[str, float] = {}  # of the variants that the plan offers

    def _gap(self) -> int:
        return int(self._generator.geometric(self.rules.share))

    def refresh(self, stage: Stage) -> None:
        """Workers or variants are others than before.

        What was compared of variants that the plan no longer offers is dropped, and of those that are others by now
        under the same name, by their accuracy: neither says anything of what answers from now on.
        """
        held = {each.variant: each for lane in stage.lanes for each in lane.offered}
        self._accuracies = {each.variant: each.accuracy for own in stage.plan.candidates.values() for each in own}
        best = max(held.values(), key=lambda each: (each.accuracy, each.variant), default=None)
        self.reference = best if len(held) > 1 else None
        self.agreements = {
            pair: each
            for pair, each in self.agreements.items()
            if self._offered(*pair) and each.baseline == self._baseline(*pair)
        }
        waiting = [sample for sample in self.waiting if self._offered(sample.variant)]
        self.dropped += len(self.waiting) - len(waiting)
        self.waiting = deque(waiting)

    def on_done(self, done: BatchDone) -> None:
        """Draw from a batch of queries that came back."""
        batch = done.batch
        reference = self.reference
        if reference is None or batch.variant == reference.variant or batch.variant not in self._accuracies:
            return
        count = len(batch.jobs)
        while self._skip < count:
            self._draw(done, self._skip)
            self._skip += self._gap()
        self._skip -= count

    def _draw(self, done: BatchDone, index: int) -> None:
        job = done.batch.jobs[index]
        if job.id in done.withdrawn:
            return
        try:
            said = self.rules.ballots.read(done.outputs[index], job.rows)
        except ValueError:  # no class of the task: there is nothing to compare
            return
        self.drawn += 1
        if len(self.waiting) == MOST_WAITING:
            self.waiting.popleft()
            self.dropped += 1
        self.waiting.append(Sample(job, done.batch.variant, said, done.done_s))

    def drop_old(self, now_s: float) -> None:
        """Nobody had time for those that were drawn too long ago, or while another reference was in force."""
        while self.waiting and (
            self.reference is None
            or self.waiting[0].drawn_s < now_s - PATIENCE_S
            or self.waiting[0].variant == self.reference.variant
            or self.waiting[0].job.rows > self.reference.max_batch
        ):
            self.waiting.popleft()
            self.dropped += 1

    def on_result(self, sample: Sample, reference: str, outputs: Mapping[str, Any]) -> None:
        """The reference answered a drawn query as well; nothing is counted of variants that are gone by now."""
        if not self._offered(sample.variant, reference):
            self.dropped += 1
            return
        try:
            heard = self.rules.ballots.read(outputs, sample.job.rows)
        except ValueError:
            self.dropped += 1
            return
        self.compared += 1
        agreement = self._agreement(sample.variant, reference)
        for ours, theirs in zip(sample.said, heard, strict=True):
            agreement.observe(ours == theirs)

    def _offered(self, *variants: str) -> bool:
        return all(each in self._accuracies for each in variants)

    def _right(self, variant: str) -> Right:
        declared = self._accuracies.get(variant, 0.0)
        return self.rules.right.get(variant, Right(declared, declared))

    def _baseline(self, variant: str, reference: str) -> Baseline:
        together = self.rules.together.get((variant, reference))
        return Baseline(*self._right(variant), reference, *self._right(reference), together)

    def _agreement(self, variant: str, reference: str) -> Agreement:
        found = self.agreements.get((variant, reference))
        if found is None:
            found = self.agreements[variant, reference] = Agreement(self._baseline(variant, reference))
        return found

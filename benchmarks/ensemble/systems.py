"""Ways to answer the same rows: one variant, all of them with plain or weighted votes, and only those that matter.

Everything is learned from the dev rows; the test rows are only judged by. What is compared is who votes and how votes
count: all systems see the same predictions and latencies.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.ensemble.members_csv import MemberCost
from catalog.votes import RecordedVotes
from dispatch.ensemble.member import Constraint, Member, MemberSet
from dispatch.ensemble.scaling import IntervalVotes, MemberScaling
from dispatch.ensemble.selector import MemberSelector
from dispatch.ensemble.tally import Tally
from dispatch.ensemble.voting import ABSENT, vote
from dispatch.ensemble.weights import ClassWeights

INTERVAL_ROWS = 50
"""Rows between two changes of Algorithm 1's set."""


@dataclass(frozen=True)
class Run:
    """What a system did with the test rows: ``right`` [rows] is the probability that each is answered correctly (a
    vote whose tie is broken by chance is right in part), ``members`` [rows] how many ran, ``latency_ms`` [rows]."""

    right: NDArray[np.float64]
    members: NDArray[np.float64]
    latency_ms: NDArray[np.float64]
    what: str

    @property
    def accuracy(self) -> float:
        """Share of rows that are answered correctly."""
        return float(self.right.mean())


class Systems:
    """All systems on one set of votes; ``costs`` are of its members."""

    def __init__(self, dev: RecordedVotes, test: RecordedVotes, costs: Mapping[str, MemberCost]) -> None:
        self.dev, self.test = dev, test
        self.latency_ms = np.array([costs[name].latency_ms for name in dev.members])
        self.weights = ClassWeights.learned(dev)
        self.rule = (self.weights.matrix, self.weights.against)
        # The goal counts members, not what they cost: each counts as one.
        self.members = [
            Member(
                name,
                costs[name].latency_ms / 1e3,
                dev.accuracies[name],
                packing_factor=costs[name].packing_factor,
                instance_cost=costs[name].packing_factor,
            )
            for name in dev.members
        ]
        self.selector = MemberSelector(self.members, dev)

    @property
    def slowest_ms(self) -> float:
        """The slowest single variant's latency."""
        return float(self.latency_ms.max())

    def single(self, member: str) -> Run:
        """One variant answers."""
        column = self.test.members.index(member)
        right = self.test.predictions[:, column] == self.test.labels
        return self._run(right, 1, float(self.latency_ms[column]), member)

    def best_single(self) -> Run:
        """The variant with the most right answers on the test rows themselves: no ensemble can choose it so well."""
        accuracies = self.test.accuracies
        return self.single(max(accuracies, key=lambda name: accuracies[name]))

    def best_single_by_dev(self) -> Run:
        """The variant with the most right answers on the dev rows: what a system would serve that may ask one."""
        accuracies = self.dev.accuracies
        return self.single(max(accuracies, key=lambda name: accuracies[name]))

    def full_plain(self) -> Run:
        """All vote, each vote counts one, ties are broken by chance."""
        names, counts = distinct(self.test.predictions)
        tied = counts == counts.max(axis=1, keepdims=True)
        right = (tied & (names == self.test.labels[:, None])).any(axis=1) / tied.sum(axis=1)
        return self._everyone(right, "ties by chance")

    def full_accuracy_weighted(self) -> Run:
        """All vote, each vote counts as much as its member is accurate, whatever the class: as Clipper does."""
        own = np.array([self.dev.accuracies[name] for name in self.dev.members])
        matrix = np.tile(own, (self.dev.classes, 1))
        return self._everyone(vote(self.test.predictions, matrix).classes == self.test.labels, "by accuracy")

    def full_class_accuracy(self) -> Run:
        """All vote, each vote counts as much as its member is accurate in that class: the paper's rule."""
        return self._everyone(
            vote(self.test.predictions, self.weights.accuracy).classes == self.test.labels, "the paper's"
        )

    def full_weighted(self) -> Run:
        """All vote, each vote counts by what the member's votes for that class are worth."""
        return self._everyone(vote(self.test.predictions, *self.rule).classes == self.test.labels, "by class")

    def dynamic(self, longest: float = 2.0) -> Run:
        """Only the members that matter for a row: see `MemberSelector`.

        No slower than the slowest variant on average, and ``longest`` times that in no case.
        """
        slowest_s = self.slowest_ms / 1e3
        return self.asked(self.selector.select(Constraint(longest * slowest_s, None, slowest_s)))

    def asked(self, chosen: MemberSet) -> Run:
        """These members in their waves."""
        predictions = self.test.predictions
        asked = np.full_like(predictions, ABSENT)
        first = [self.test.members.index(name) for name in chosen.waves[0]]
        asked[:, first] = predictions[:, first]
        votes = vote(asked, *self.rule)
        classes = votes.classes.copy()
        members, latency_ms = np.full(len(classes), len(first), float), np.full(len(classes), chosen.first_s * 1e3)
        if len(chosen.waves) > 1:
            second = [self.test.members.index(name) for name in chosen.waves[1]]
            escalated = votes.margins <= chosen.stop_margin
            asked[:, second] = predictions[:, second]
            classes[escalated] = vote(asked[escalated], *self.rule).classes
            members[escalated] += len(second)
            latency_ms[escalated] = chosen.latency_s * 1e3
        what = " then ".join("+".join(wave) for wave in chosen.waves)
        return Run((classes == self.test.labels).astype(float), members, latency_ms, what)

    def intervals(self) -> Run:
        """Algorithm 1 of the paper, without labels: the set changes every `INTERVAL_ROWS` rows."""
        full = self.selector.accuracy(self.dev.members)
        scaling = MemberScaling(self.members, full)
        rows = len(self.test.labels)
        right, members, latency_ms = np.zeros(rows), np.zeros(rows), np.zeros(rows)
        seen = IntervalVotes()
        for row, (label, said) in enumerate(zip(self.test.labels, self.test.predictions.tolist(), strict=True)):
            if row and row % INTERVAL_ROWS == 0:
                scaling.on_interval(seen)
                seen = IntervalVotes()
            columns = [self.test.members.index(name) for name in scaling.voting]
            tally = Tally(self.weights.rows, self.weights.against_rows)
            for column in columns:
                tally.add(column, said[column])
            seen.on_vote(tally.leader, {self.test.members[c]: said[c] for c in columns}, tally.confidence)
            right[row], members[row] = tally.leader == label, len(columns)
            latency_ms[row] = self.latency_ms[columns].max()
        return Run(right, members, latency_ms, f"every {INTERVAL_ROWS} rows")

    def _everyone(self, right: NDArray[np.bool_] | NDArray[np.float64], what: str) -> Run:
        return self._run(right, len(self.dev.members), self.slowest_ms, what)

    def _run(self, right: NDArray[np.bool_] | NDArray[np.float64], members: int, latency_ms: float, what: str) -> Run:
        rows = len(self.test.labels)
        return Run(right.astype(float), np.full(rows, float(members)), np.full(rows, latency_ms), what)


def distinct(predictions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each row the classes that were named [rows, members] and how often; a class that comes again counts 0."""
    same = predictions[:, :, None] == predictions[:, None, :]
    first = ~np.tril(same, k=-1).any(axis=2)
    return predictions, np.where(first, same.sum(axis=2), 0)

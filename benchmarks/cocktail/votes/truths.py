"""What members say in a simulation, and whether it is true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from benchmarks.cocktail.workload import Workload
from dispatch.commands import Answer
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.chooser import MemberChooser
from dispatch.ensemble.member import Constraint
from dispatch.ensemble.tally import Tally
from dispatch.ensemble.weights import ClassWeights
from dispatch.flow.ensemble import ANSWER_BEFORE_SHARE, CLEAR
from dispatch.query import Batch

ROUNDING_S = 1e-9


@dataclass(frozen=True)
class LabelBallots(Ballots):
    """Outputs with a plain list of labels: to look into arrays of one number takes most of the time."""

    def read(self, outputs: Mapping[str, Any], rows: int) -> list[int]:
        """See `Ballots.read`."""
        said: list[int] = outputs["label"]
        return said

    def write(self, tallies: Sequence[Tally]) -> dict[str, Any]:
        """See `Ballots.write`."""
        return {"label": [tally.leader for tally in tallies]}


class Truths:
    """Knows what each member says of each query of a workload, and keeps what came of it.

    ``right`` by query, False where there was no answer; ``members`` is how many voted; ``cut_short`` where a query was
    answered because its time was up, by fewer members than it would have taken. Members that are ``asked`` are by
    query, and ``weights`` those of their votes. The ``chooser`` hears the truth of every answer at once, as the paper's
    does.
    """

    def __init__(
        self,
        workload: Workload,
        chooser: MemberChooser,
        weights: ClassWeights,
        asked: Mapping[int, Sequence[str]],
    ) -> None:
        votes = workload.votes
        self._said = {
            name: votes.predictions[workload.row, column].tolist() for column, name in enumerate(votes.members)
        }
        self._labels: list[int] = votes.labels[workload.row].tolist()
        self._chooser = chooser
        self._weights = weights
        self._columns = {name: column for column, name in enumerate(weights.members)}
        self._asked = asked
        self.right = np.zeros(len(self._labels), dtype=np.bool_)
        self.members = np.zeros(len(self._labels), dtype=np.intp)
        self.cut_short = np.zeros(len(self._labels), dtype=np.bool_)

    def outputs(self, batch: Batch) -> list[dict[str, list[int]]]:
        """The label that a batch's variant gives to each of its jobs."""
        said = self._said[batch.variant]
        return [{"label": [said[job.query.id]]} for job in batch.jobs]

    def on_answer(self, answer: Answer) -> None:
        """A query is answered."""
        query, truth = answer.query, self._labels[answer.query.id]
        (said,) = answer.outputs["label"]
        self.right[query.id] = said == truth
        self.members[query.id] = len(answer.votes)
        due_s = query.deadline_s - ANSWER_BEFORE_SHARE * query.allowed_s
        self.cut_short[query.id] = answer.done_s > due_s - ROUNDING_S and not self._decided(answer)
        votes = {member: own[0] for member, own in answer.votes.items()}
        self._chooser.on_truth(Constraint(inf, query.accuracy), truth, said, votes)

    def _decided(self, answer: Answer) -> bool:
        """Whether the members that have not voted could not change the answer, or there are none."""
        tally = Tally(self._weights.rows, self._weights.against_rows)
        for member, said in answer.votes.items():
            tally.add(self._columns[member], said[0])
        missing = [self._columns[member] for member in self._asked[answer.query.id] if member not in answer.votes]
        to_come = sum(self._weights.largest[column] for column in missing)
        return not missing or tally.margin - to_come > CLEAR

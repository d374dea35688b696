"""From members' tensors to votes, and from votes to the tensors of an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dispatch.ensemble.tally import Tally


@dataclass(frozen=True)
class Ballots:
    """Which of a variant's outputs say its class: ``label`` INT64 [rows], ``scores`` [rows, classes], or both.

    An answer has both where members have them; its scores are how likely the classes are by the vote, and the label's
    is the highest.
    """

    classes: int
    label: str | None = "label"
    scores: str | None = None

    def __post_init__(self) -> None:
        if self.label is None and self.scores is None:
            raise ValueError("a vote needs an output with the label or with the scores of classes")

    def read(self, outputs: Mapping[str, Any], rows: int) -> list[int]:
        """The class of each of so many rows that a member gave; raises ValueError where outputs do not say it."""
        name = str(self.scores) if self.label is None else self.label
        if name not in outputs:
            raise ValueError(f"no output {name!r}; there are {', '.join(outputs) or 'none'}")
        found = np.asarray(outputs[name])
        if self.label is None:
            if np.isnan(found).any():
                raise ValueError(f"output {name!r} has scores that are no numbers; a vote needs a score per class")
            found = found.argmax(axis=-1)
        if found.shape != (rows,) or found.dtype.kind not in "iu":
            raise ValueError(f"output {name!r} gives {found.dtype} {list(found.shape)}; a vote needs a class per row")
        said: list[int] = found.tolist()
        for each in said:
            if not 0 <= each < self.classes:
                raise ValueError(f"class {each}; a vote among {self.classes} needs one from 0 to {self.classes - 1}")
        return said

    def write(self, tallies: Sequence[Tally]) -> dict[str, Any]:
        """The tensors of an answer, a row per tally; each has a vote."""
        outputs: dict[str, Any] = {}
        if self.label is not None:
            outputs[self.label] = np.array([tally.leader for tally in tallies], np.int64)
        if self.scores is not None:
            scores = np.zeros((len(tallies), self.classes), np.float32)
            for row, tally in zip(scores, tallies, strict=True):
                for label, share in tally.shares().items():
                    row[label] = share
            outputs[self.scores] = scores
        return outputs

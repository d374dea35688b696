"""Learns the parameters of a Gaussian process, and with them encodings of machine types, by gradient descent."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import torch

from predictor.examples import Examples
from predictor.features.similarity_features import variant_points
from predictor.models import kernel
from predictor.models.examples_index import ExamplesIndex
from predictor.models.gaussian_process import JITTER, GaussianProcess, KernelParameters
from predictor.splits import sample
from predictor.variant_table import VariantTable

Encoding = Literal["learned", "one_hot"]

DIMENSIONS = 2
"""Of the encoding of a machine type (Figure 5 of the paper)."""

STEPS = 60
RATE = 0.15
REDRAW_EVERY = 20
ROWS = 400
"""The likelihood is taken of so many examples, drawn anew now and then; all of them would take minutes."""

MOST_EXAMPLES = 3000
"""Where there are more, as many are drawn, equal shares of each machine type: predicting takes time in proportion,
and learning its cube."""

PRIOR = 0.05
"""Weight of the squared distance of parameters from where they start."""

Parameters = dict[str, torch.Tensor]


def fit_gaussian_process(
    examples: Examples,
    table: VariantTable,
    *,
    columns: Sequence[str] | None = None,
    encoding: Encoding = "learned",
    seed: int = 0,
) -> GaussianProcess:
    """The process with the highest posterior of its parameters, found by Adam on samples of the examples.

    ``columns`` are the metrics to go by; None takes all. With the ``learned`` encoding machine types are points in the
    plane, and the closer two are, the more alike is how variants behave there; with ``one_hot`` all are equally
    unlike. Both are learned from the examples alone, together with all else. Metrics of the table's other variants are
    kept, so that these can be predicted as well.
    """
    drawn = examples.only(sample(examples.configurations, MOST_EXAMPLES, seed))
    names = {variant for each in drawn.configurations for variant in each.variants}
    variants = tuple(sorted(names | {variant for _, variant in table.hardware} | table.architecture.keys()))
    machines = tuple(sorted({each.machine for each in examples.configurations}))
    points = variant_points(table, variants, columns)
    index = ExamplesIndex(variants, machines)
    rows = index.positions(drawn.configurations)
    others = index.counts(rows.others)[:, : len(variants)]
    data = _Data(points, rows.variant, rows.machine, others, drawn, len(machines), encoding)
    with _one_thread():
        learned = _learn(data, seed)
    with torch.no_grad():
        machine = data.machine_similarity(learned).numpy()
    return GaussianProcess(
        variants=variants,
        machines=machines,
        points=points,
        encodings=learned["encodings"].detach().numpy(),
        parameters=KernelParameters(
            suffer_scales=_value(learned["suffer_scales"].exp()),
            harm_scales=_value(learned["harm_scales"].exp()),
            suffer_identity=float(_value(learned["suffer_identity"].sigmoid())),
            harm_identity=float(_value(learned["harm_identity"].sigmoid())),
            machine_similarity=machine,
            weights=_value(learned["weights"].exp()),
            noise=float(_value(learned["noise"].exp())),
        ),
        configurations=drawn.configurations,
        slowdown=drawn.slowdown,
        repeats=drawn.repeats,
    )


class _Data:
    """The examples as tensors, and the covariance between some of them under given parameters."""

    def __init__(
        self,
        points: Any,
        variant: Any,
        machine: Any,
        others: Any,
        examples: Examples,
        machines: int,
        encoding: Encoding,
    ) -> None:
        self.points = torch.tensor(points)
        self.variant = torch.tensor(variant)
        self.machine = torch.tensor(machine)
        self.others = torch.tensor(others)
        logs = np.log(examples.slowdown)
        self.targets = torch.tensor((logs - logs.mean()) / (logs.std() or 1.0))
        self.repeats = torch.tensor(examples.repeats)
        self.machines = machines
        self.encoding = encoding

    def start(self, seed: int) -> Parameters:
        """Where learning begins; all but encodings are logarithms, or logits."""
        metrics = self.points.shape[1]
        scale = 0.5 * np.log(max(metrics, 1)) + 0.3
        drawn = torch.randn(
            self.machines, DIMENSIONS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
        )
        return {
            "suffer_scales": torch.full((metrics,), scale, dtype=torch.float64),
            "harm_scales": torch.full((metrics,), scale, dtype=torch.float64),
            "suffer_identity": torch.tensor(-1.5, dtype=torch.float64),
            "harm_identity": torch.tensor(-1.5, dtype=torch.float64),
            "machine_identity": torch.tensor(-2.0 if self.encoding == "learned" else 1.0, dtype=torch.float64),
            "weights": torch.tensor([-1.0, -1.0, -1.0, -1.0, -3.0, -3.0], dtype=torch.float64),
            "noise": torch.tensor(-5.0, dtype=torch.float64),
            "encodings": 0.3 * drawn,
        }

    def machine_similarity(self, p: Parameters) -> torch.Tensor:
        """km: shape [machines, machines]."""
        same = torch.eye(self.machines, dtype=torch.float64)
        share = p["machine_identity"].sigmoid()
        if self.encoding == "one_hot":
            return (1.0 - share) + share * same
        ones = torch.ones(DIMENSIONS, dtype=torch.float64)
        alike = kernel.similarity(torch, p["encodings"], p["encodings"], ones)
        return (1.0 - share) * alike + share * same

    def covariance(self, p: Parameters, rows: torch.Tensor) -> torch.Tensor:
        """Of the examples numbered ``rows``, their noise with it."""
        metrics = self.points.shape[1]
        same = torch.eye(len(self.points), dtype=torch.float64)
        suffer, harm = (
            kernel.with_identity(
                kernel.similarity(torch, self.points, self.points, p[f"{role}_scales"].exp()),
                same,
                p[f"{role}_identity"].sigmoid(),
                metrics,
            )
            for role in ("suffer", "harm")
        )
        variant, machine, others = self.variant[rows], self.machine[rows], self.others[rows]
        made: torch.Tensor = kernel.covariance(
            self.machine_similarity(p)[machine][:, machine],
            suffer[variant][:, variant],
            others @ harm @ others.T,
            p["weights"].exp(),
        )
        return made + torch.diag(p["noise"].exp() / self.repeats[rows] + JITTER)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Matrices are small: a second thread waits most of the time, and on a busy machine the first one for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _learn(data: _Data, seed: int) -> Parameters:
    start = data.start(seed)
    parameters = {name: value.clone().requires_grad_() for name, value in start.items()}
    optimiser = torch.optim.Adam(parameters.values(), lr=RATE)
    draw = torch.Generator().manual_seed(seed)
    rows = torch.arange(0)
    for step in range(STEPS):
        if step % REDRAW_EVERY == 0:
            rows = torch.randperm(len(data.targets), generator=draw)[:ROWS]
        optimiser.zero_grad()
        factor = torch.linalg.cholesky(data.covariance(parameters, rows))
        targets = data.targets[rows]
        solved = torch.cholesky_solve(targets[:, None], factor)[:, 0]
        loss = 0.5 * targets @ solved + torch.log(torch.diagonal(factor)).sum()
        for name, value in parameters.items():
            loss = loss + PRIOR * ((value - start[name]) ** 2).sum()
        loss.backward()
        optimiser.step()
    return parameters


def _value(tensor: torch.Tensor) -> Any:
    return tensor.detach().numpy()

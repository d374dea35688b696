"""Shadow runs in virtual time: recorded votes of the digits are what variants say, one of them permuted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.catalogue import load_catalogue
from catalog.votes import RecordedVotes, read_votes
from dispatch.balancing.registry import create_balancer
from dispatch.ensemble.ballots import Ballots
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import Batch
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.shadow.endpoint_shadow import EndpointShadow
from dispatch.shadow.rules import ShadowRules, Together
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.record import Record
from workload.rate import RateSchedule
from workload.renewal import Poisson

REFERENCE = "digits-ensemble"
SHARE = 0.01
WORKERS = 4
SLO_S = 0.1
PATH_S = 0.004
BASE_S = {"digits-ensemble": 0.012, "digits-cnn-xl": 0.008, "digits-cnn-l": 0.005, "digits-cnn-m": 0.003}
SMALL_S = 0.002
PER_ROW = 0.6
"""A further row takes so much of what the first one does."""

ENDPOINT = "digits"


@dataclass(frozen=True)
class Simulated:
    """One run: by variant the queries that it had answered when its fall was found, None where none was, and the
    shadow runs that there were."""

    found_after: Mapping[str, int | None]
    live: Mapping[str, tuple[float, float]]
    truth: Mapping[str, float]
    compared: int


def digits_votes() -> RecordedVotes:
    """What every variant said of the held-out digits."""
    (votes,) = read_votes(load_catalogue("builtin").votes["digits"]).values()
    return votes


def candidate(votes: RecordedVotes, variant: str) -> Candidate:
    """A variant with the accuracy of its votes, whose latency is made up."""
    first_s = BASE_S.get(variant, SMALL_S)
    latency_s = tuple(0.0 if not n else PATH_S + first_s * (1.0 + PER_ROW * (n - 1)) for n in range(33))
    return Candidate(variant, votes.accuracies[variant], latency_s, latency_s, PATH_S)


def rules(votes: RecordedVotes, share: float, seed: int) -> ShadowRules:
    """What was measured of the variants together."""
    said = {name: votes.predictions[:, column] for column, name in enumerate(votes.members)}
    together = {
        (name, REFERENCE): Together(votes.rows, int((own == votes.labels).sum()), int((own == said[REFERENCE]).sum()))
        for name, own in said.items()
        if name != REFERENCE
    }
    return ShadowRules(share, Ballots(votes.classes), together, seed=seed)


class VotesHeard:
    """What variants say of the digit that each query holds, drawn by query id; the classes of ``broken`` are permuted.

    Counts queries by variant, and notes how many there were when ``shadow`` has found a fall.
    """

    def __init__(self, votes: RecordedVotes, broken: str, seed: int) -> None:
        self._said = {name: votes.predictions[:, column].copy() for column, name in enumerate(votes.members)}
        generator = np.random.default_rng(seed)
        shift = generator.permutation(np.roll(np.arange(votes.classes), 1))
        if broken:
            self._said[broken] = shift[self._said[broken]]
        self._rows = generator.integers(0, votes.rows, 1 << 17)
        self._labels = votes.labels
        self.answered: dict[str, int] = {}
        self.right: dict[str, int] = {}
        self.found: dict[str, int] = {}
        self.shadow: EndpointShadow | None = None

    def __call__(self, batch: Batch) -> Sequence[Mapping[str, Any]]:
        rows = [int(self._rows[job.query.id % len(self._rows)]) for job in batch.jobs]
        said: NDArray[np.int64] = self._said[batch.variant][rows]
        if not batch.shadow:
            self.answered[batch.variant] = self.answered.get(batch.variant, 0) + len(rows)
            self.right[batch.variant] = self.right.get(batch.variant, 0) + int((said == self._labels[rows]).sum())
        for (variant, _), each in () if self.shadow is None else self.shadow.agreements.items():
            if each.drifted:
                self.found.setdefault(variant, self.answered[variant])
        return [{"label": said[index : index + 1]} for index in range(len(rows))]


def endpoint(
    votes: RecordedVotes, variants: Sequence[str], only: str | None, shadow: ShadowRules | None
) -> EndpointPlan:
    """The digits, answered by the most accurate variant in time, or by ``only``."""
    selection = GreedySelection() if only is None else FixedSelection(only)
    stage = StagePlan(
        {"cpu": tuple(candidate(votes, name) for name in variants)}, selection, create_balancer("shortest_queue")
    )
    limits = {"slo_s": SLO_S, "drop_late": False, "max_queued_rows": 100_000}
    made = EndpointPlan.of_stage(ENDPOINT, stage, **limits)  # type: ignore[arg-type]
    return EndpointPlan(made.name, made.limits, made.stages, shadow=shadow)


def play(
    votes: RecordedVotes,
    plan: EndpointPlan,
    heard: VotesHeard,
    load_qps: float,
    seconds: float,
    seed: int,
    workers: int = WORKERS,
) -> tuple[Record, EndpointShadow | None]:
    """Poisson arrivals of one endpoint; gives what came of the queries, and of the shadow runs."""
    host = Host(
        Plan(1, {ENDPOINT: plan}), {f"w{n}": "cpu" for n in range(workers)}, PlannedLatency(plan), outputs=heard
    )
    heard.shadow = host.shadows.by_endpoint.get(ENDPOINT)
    record = host.run({ENDPOINT: Poisson(RateSchedule.constant(load_qps), seed).times_s(seconds)})
    return record, heard.shadow


def detect(votes: RecordedVotes, variant: str, broken: bool, queries: int, seed: int) -> Simulated:
    """So many queries that ``variant`` answers, broken from the first on or not."""
    heard = VotesHeard(votes, variant if broken else "", seed)
    plan = endpoint(votes, (variant, REFERENCE), variant, rules(votes, SHARE, seed))
    load_qps = 100.0
    _, shadow = play(votes, plan, heard, load_qps, queries / load_qps, seed)
    assert shadow is not None
    agreement = shadow.agreements.get((variant, REFERENCE))
    live = None if agreement is None else agreement.live()
    known = live is not None and live.low is not None and live.high is not None
    return Simulated(
        {variant: heard.found.get(variant)},
        {variant: (live.low, live.high)} if known and live else {},  # type: ignore[dict-item]
        {variant: heard.right[variant] / heard.answered[variant]},
        shadow.compared,
    )


def harm(
    votes: RecordedVotes, only: str | None, load_qps: float, seconds: float, share: float, seed: int
) -> dict[str, Any]:
    """The same queries with and without shadow runs: violations, accuracy and latency of both.

    The greedy policy answers them, or ``only`` one variant, which leaves workers idle that shadow runs may take.
    """
    found: dict[str, Any] = {"load_qps": load_qps, "variant": only or "greedy"}
    variants = tuple(votes.members)
    for name, shadow in (("without", None), ("with", rules(votes, share, seed))):
        heard = VotesHeard(votes, "", seed)
        record, kept = play(votes, endpoint(votes, variants, only, shadow), heard, load_qps, seconds, seed)
        latency_s = record.done_s - record.arrival_s
        found[name] = {
            "violation_rate": float((record.done_s > record.deadline_s).mean()),
            "accuracy": float(record.batches.accuracy[record.batch].mean()),
            "mean_latency_ms": 1e3 * float(latency_s.mean()),
            "p99_latency_ms": 1e3 * float(np.quantile(latency_s, 0.99)),
            "shadow_runs": 0 if kept is None else kept.compared,
            "dropped": 0 if kept is None else kept.dropped,
        }
    return found

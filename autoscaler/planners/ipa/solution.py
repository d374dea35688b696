"""What IPA's integer program answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaler.cluster.plan import Status


@dataclass(frozen=True)
class Active:
    """A variant that is active in a stage, on one device type: ``replicas`` workers run batches of ``batch_rows``.

    ``share`` is the part of the stage's jobs that it gets. Replicas hold the variants ``also`` beside it: more accurate
    ones, which run where there is time for them.
    """

    variant: str
    device: str
    batch_rows: int
    replicas: int
    cost: float
    run_s: float
    wait_s: float
    capacity_qps: float
    share: float = 1.0
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class PipelineSolution:
    """One pipeline: by stage what is active. ``accuracy`` is as the objective has it, ``latency_s`` the longest path.

    ``served_qps`` is less than the load where no number of workers that may be there bears it.
    """

    stages: Mapping[str, tuple[Active, ...]]
    accuracy: float
    cost: float
    latency_s: float
    served_qps: float


@dataclass(frozen=True)
class Solution:
    """All pipelines. ``gap`` is the proven relative distance of ``objective`` (equation 8) from the best there can be,
    None where it is not proven that no more of the load can be served.

    ``explanation`` says in sentences what binds. Without an answer there are no pipelines, and it is ``impossible``
    where that is not for want of time.
    """

    status: Status
    gap: float | None
    objective: float
    solve_s: float
    pipelines: Mapping[str, PipelineSolution]
    explanation: tuple[str, ...] = ()
    impossible: bool = False

"""What router and workers say to each other; free of ray, so that anyone may name it."""

from dataclasses import dataclass, field

from catalog.artifacts.rules import ArtifactRules
from catalog.tensor import Arrays
from catalog.variant import Variant
from dispatch.worker_info import WorkerInfo


@dataclass(frozen=True)
class WorkerSpec:
    """What every worker of a pool is: its device, its threads, the variants it loads and where they come from.

    A ``preemptible`` one may be taken away at any time. ``machine`` is the type of machine that it stands on, empty
    where the worker is to find out for itself.
    """

    pool: str
    device: str
    threads: int
    variants: tuple[Variant, ...]
    artifact_root: str
    cache_dir: str
    preemptible: bool = False
    machine: str = ""
    artifact_rules: ArtifactRules = field(default_factory=ArtifactRules)


@dataclass(frozen=True)
class WorkerReport:
    """What a worker says of itself.

    ``failed`` maps the variants that it could not load to the reason. ``router`` is the one whose batches it runs,
    None where it was told to run nobody's, or never told, and then it runs anyone's. ``pid`` is its process.
    """

    info: WorkerInfo
    loaded: tuple[str, ...]
    failed: dict[str, str] = field(default_factory=dict)
    memory_bytes: int = 0
    router: str | None = None
    pid: int = 0


@dataclass(frozen=True)
class NetworkAddress:
    """Where a worker takes batches from other machines, and the ``token`` that shows who may send them."""

    host: str
    port: int
    token: bytes = field(repr=False)


@dataclass(frozen=True)
class BatchResult:
    """What a batch came to: stacked ``outputs``, or ``error`` in one line.

    ``run_s`` is the time on the device, ``waited_s`` how long it was here before that.
    """

    outputs: Arrays
    run_s: float
    error: str | None = None
    waited_s: float = 0.0

"""What Serve says of the application's health, once a second."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.adaptation.service import serve_status
from serve_app.testing.repeatedly import Repeatedly

EVERY_S = 1.0
UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Sample:
    """One look, at seconds since the epoch: the application's status, and the deployments that are not healthy."""

    at_s: float
    status: str
    unhealthy: tuple[str, ...]


@dataclass(frozen=True)
class Health:
    """Seconds in which the application did not run or a deployment was unhealthy, and those of intended changes."""

    unhealthy_s: float
    deploying_s: float

    @classmethod
    def of(cls, samples: Sequence[Sample], changes_s: Sequence[tuple[float, float]]) -> "Health":
        """Each look stands for `EVERY_S`. DEPLOYING is intended within one of the spans of changes, else unhealthy."""
        deploying = unhealthy = 0
        for sample in samples:
            intended = any(start_s <= sample.at_s <= end_s for start_s, end_s in changes_s)
            if sample.unhealthy or sample.status not in ("RUNNING", "DEPLOYING"):
                unhealthy += 1
            elif sample.status == "DEPLOYING":
                deploying += intended
                unhealthy += not intended
        return cls(unhealthy * EVERY_S, deploying * EVERY_S)


class StatusWatch(Repeatedly):
    """Looks for as long as the block runs."""

    def __init__(self) -> None:
        super().__init__(lambda: self.samples.append(_sample()), EVERY_S)
        self.samples: list[Sample] = []


def _sample() -> Sample:
    try:
        status = serve_status()
    except (OSError, RuntimeError):  # Serve that does not say how it is, is not well
        return Sample(time.time(), UNKNOWN, ())
    deployments = status.get("deployments", {})
    return Sample(
        time.time(),
        status.get("status", UNKNOWN),
        tuple(name for name, each in deployments.items() if each["status"] in ("UNHEALTHY", "DEPLOY_FAILED")),
    )

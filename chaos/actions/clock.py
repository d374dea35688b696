"""What may happen to the wall clock."""

from pathlib import Path

from chaoslib.exceptions import ActivityFailed

from chaos.services.digits import CLOCK
from chaos.trial.trial import Trial, current

__all__ = ["jump", "return_to_time"]


def jump(seconds: float) -> float:
    """The wall clock of the service's Python processes jumps ahead, below 0 seconds back, until `return_to_time`.

    Needs a service that was started with such a clock (`chaos.shifted_clock`).
    """
    trial = current()
    _file(trial).write_text(f"{seconds}", encoding="ascii")
    trial.mark(f"the clock jumps by {seconds:g} s")
    trial.undoing("jump").callback(_file(trial).unlink, missing_ok=True)
    return seconds


def return_to_time() -> bool:
    """The wall clock jumps to where it belongs; False where it is there."""
    trial = current()
    if undone := trial.undo_all("jump"):
        trial.mark("the clock jumps back", fault=False)
    return undone


def _file(trial: Trial) -> Path:
    service = trial.bench.service
    if CLOCK not in service.details:
        raise ActivityFailed(f"service {service.name!r} has the machine's clock; use one that is started with its own")
    return Path(service.details[CLOCK])

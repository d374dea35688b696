"""What a service says of itself."""

import time

from chaoslib.exceptions import ActivityFailed

from chaos.trial.parts import of_part
from chaos.trial.trial import Trial, current
from serve_app.testing.fetch import fetch
from serve_app.testing.status_watch import look

__all__ = ["processes", "ready", "restored"]

ANSWER_S = 2.0
LOOK_EVERY_S = 0.1


def ready() -> bool:
    """Whether all endpoints are ready, by the service's own word."""
    try:
        fetch(f"{current().bench.service.url}/v2/health/ready", ANSWER_S)
    except OSError:
        return False
    return True


def processes(part: str) -> int:
    """How many processes of a part there are."""
    return len(of_part(current().bench.service, part))


def restored(within_s: float = 60.0) -> float:
    """Wait until the service is ready with as many workers, routers and other parts as before the experiment.

    Processes that died do not count. Gives seconds from the last fault. Raises ActivityFailed where that takes longer
    than ``within_s``.
    """
    trial = current()
    faults_s = [mark.at_s for mark in trial.marks if mark.fault]
    since_s = max(faults_s, default=time.monotonic())
    missing = "nothing"
    while time.monotonic() - since_s < within_s:
        missing = _missing(trial)
        if not missing and ready():
            trial.restored_s = time.monotonic() - since_s
            trial.mark("all there again", fault=False)
            return trial.restored_s
        time.sleep(LOOK_EVERY_S)
    raise ActivityFailed(f"{within_s:g} s after the last fault there was still missing: {missing or 'readiness'}")


def _missing(trial: Trial) -> str:
    """What of the service is not there, in words; empty where all is."""
    service, whole = trial.bench.service, trial.bench.whole
    for part, count in whole.items():
        there = {process.pid for process in of_part(service, part)} - trial.lost_pids
        if len(there) < count:
            return f"{part}, of which there are {len(there)} of {count}"
    try:
        status = look(service.url).status
        workers = {int(worker["pid"]) for worker in status["workers"].values()} - trial.lost_pids
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"the status ({error})"
    if len(workers) < whole["worker"]:
        return f"workers that serve, of which there are {len(workers)} of {whole['worker']}"
    return ""

"""The load that a service bears while something is done to it."""

from chaoslib.exceptions import ActivityFailed

from chaos.trial.trial import current

__all__ = ["begin_load"]


def begin_load(share: float = 0.5, seconds: float = 25.0) -> float:
    """Send ``share`` of the load that the service carries, open-loop, for ``seconds``; gives queries per second.

    Returns at once. The probe `chaos.probes.load.outcome` waits for its end.
    """
    trial = current()
    if trial.load is not None:
        raise ActivityFailed("a load is being sent already; wait for its outcome first")
    load_qps = share * trial.bench.carried_qps
    trial.marks.clear()
    trial.lost_pids.clear()
    trial.outcome = trial.restored_s = None
    trial.load = trial.bench.begin(load_qps, seconds)
    return load_qps

"""What may happen to nodes of a cluster: they are lost, come, are preempted, are cut off."""

import time

from chaoslib.exceptions import ActivityFailed

from chaos.services.ray_nodes import RayNodes
from chaos.trial.trial import Trial, current

__all__ = ["add_node", "announce_preemption", "cut_off", "lose_node", "reconnect", "replace_node"]


def lose_node(pool: str) -> int:
    """The node of a pool is gone with all of its processes at once; gives how many these were."""
    trial = current()
    trial.mark(f"node of pool {pool} lost")
    gone = _nodes(trial).lose(pool)
    trial.lost_pids |= gone
    return len(gone)


def add_node(pool: str, after_s: float = 0.0) -> None:
    """A node for the workers of a pool comes after so many seconds."""
    trial = current()
    time.sleep(after_s)
    _nodes(trial).add(pool)
    trial.mark(f"node for pool {pool} comes", fault=False)


def announce_preemption(pool: str, notice_s: int) -> None:
    """The node of a pool is to be taken away: Ray and Serve are told so (`ray drain-node`), ``notice_s`` before."""
    trial = current()
    trial.mark(f"preemption of pool {pool} in {notice_s} s announced")
    _nodes(trial).announce_loss(pool, notice_s)


def replace_node(pool: str, after_s: float) -> int:
    """Another node for a pool comes now, and the old one is gone after so many seconds; gives its processes."""
    trial = current()
    _nodes(trial).add(pool)
    trial.mark(f"node for pool {pool} comes", fault=False)
    time.sleep(after_s)
    return lose_node(pool)


def cut_off(pool: str) -> None:
    """Nothing gets to the node of a pool, and nothing from it, until `reconnect`."""
    trial = current()
    trial.mark(f"node of pool {pool} cut off")
    try:
        trial.undoing("cut_off").enter_context(_nodes(trial).cut_off(pool))
    except RuntimeError as error:
        raise ActivityFailed(str(error)) from error


def reconnect() -> bool:
    """What was cut off can be reached again; False where nothing was."""
    trial = current()
    if undone := trial.undo_all("cut_off"):
        trial.mark("reachable again", fault=False)
    return undone


def _nodes(trial: Trial) -> RayNodes:
    found = trial.bench.service.details.get("nodes")
    if not isinstance(found, RayNodes):
        raise ActivityFailed(f"service {trial.bench.service.name!r} runs on one node; use service 'nodes'")
    return found

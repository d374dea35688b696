"""Interrupts an experiment where this machine lacks what it needs, and says why."""

from typing import Any

from chaoslib.exceptions import InterruptExecution
from chaoslib.types import Experiment

from chaos.services.apart import why_no_namespaces

__all__ = ["SKIPPED", "before_experiment_control"]

SKIPPED = "skipped: "
"""The message of the interruption begins so."""

NEEDS = {"network-namespaces": why_no_namespaces}


def before_experiment_control(context: Experiment, need: str, **_: Any) -> None:
    """Interrupt the experiment where ``need``, one of `NEEDS`, is not there."""
    if need not in NEEDS:
        raise InterruptExecution(f"need {need!r} is unknown; known are {', '.join(NEEDS)}")
    if why := NEEDS[need]():
        context.setdefault("configuration", {})["skipped"] = why
        raise InterruptExecution(f"{SKIPPED}{why}")

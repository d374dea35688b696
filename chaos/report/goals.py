"""What an experiment promises, and whether its figures keep it."""

from collections.abc import Mapping
from math import inf
from typing import Any

from chaoslib.hypothesis import within_tolerance

from chaos.report.journal import Journal

FIGURE = "figure"
"""Function of the probes that are about a figure of the outcome."""

EXPLAINED = "no deviation beyond these goals"


def goals(journal: Journal) -> dict[str, bool]:
    """By probe of the hypothesis whether it holds after the fault.

    Chaos Toolkit stops at the first that does not; here figures are held to all tolerances. Of the other probes those
    count that were reached, also where they failed, and the run itself: whether all of its activities did what they
    should. Where the experiment deviated, one of these goals says why, or `EXPLAINED` is missed.
    """
    figures = journal.figures or {}
    after = {probe["activity"]["name"]: probe for probe in journal.probed_after}
    found = {"the experiment ran": journal.figures is not None and not list(journal.problems())}
    for probe in journal.content["experiment"]["steady-state-hypothesis"]["probes"]:
        name, provider = probe["name"], probe["provider"]
        if provider["func"] == FIGURE:
            found[name] = _held(probe["tolerance"], figures, provider["arguments"]["name"])
        elif name in after:
            found[name] = bool(after[name]["tolerance_met"])
    deviated = bool(journal.content.get("deviated"))
    return {**found, EXPLAINED: not deviated or not all(found.values())}


def _held(tolerance: Any, figures: Mapping[str, Any], name: str) -> bool:
    value = figures.get(name)
    return bool(within_tolerance(tolerance, inf if value is None else value))

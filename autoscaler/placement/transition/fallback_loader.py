"""Fallback variants are loaded after the planned ones, while the plan is in force already."""

from collections.abc import Collection, Mapping

from autoscaler.cluster.plan import ClusterPlan

Held = frozenset[str]
"""What a worker holds."""


class FallbackLoader:
    """Says what workers are to load beside what the plan in force has on them; its host loads, and reports.

    A worker loads one variant at a time, in the plan's order. One that could not be loaded is left out, and those that
    were to follow it are tried. ``orphans`` are served on by whoever holds them, as `Rollout.orphans` says. The loader
    is of one plan: the next plan has another one.
    """

    def __init__(self, plan: ClusterPlan, orphans: Held = frozenset()) -> None:
        self._plan = plan
        self._orphans = orphans
        self._failed: set[tuple[str, str]] = set()

    def next(self, holds: Mapping[str, Held], busy: Collection[str] = ()) -> dict[str, str]:
        """By worker that is there the variant to load now; without workers that are ``busy`` or need none."""
        found = {}
        for worker, variants in self._plan.fallback.items():
            if worker not in holds or worker in busy:
                continue
            for variant in variants:
                if variant not in holds[worker] and (worker, variant) not in self._failed:
                    found[worker] = variant
                    break
        return found

    def on_failed(self, worker: str, variant: str) -> None:
        """The worker cannot load it."""
        self._failed.add((worker, variant))

    def serves(self, holds: Mapping[str, Held]) -> dict[str, Held]:
        """What each worker is there for with what it ``holds``; who lacks what is planned has orphans at most."""
        serves = {
            worker: self._plan.usable(worker, holds[worker])
            for worker, wanted in self._plan.held.items()
            if worker in holds and wanted <= holds[worker]
        }
        for worker, own in holds.items():
            if orphans := own & self._orphans:
                serves[worker] = serves.get(worker, frozenset()) | orphans
        return serves

"""The way from the plan in force to the next one: load what is new, switch, unload what is old."""

from collections.abc import Collection, Mapping

from autoscaler.cluster.plan import ClusterPlan, is_to_come

Held = frozenset[str]
"""What a worker holds, or is to hold."""


class Rollout:
    """Makes one plan true, make before break: its host loads, publishes and unloads, and reports what came of it.

    ``holds`` has what every worker that is there holds, those without a place in the plan too; plan workers that are
    not in it are left out everywhere. They are still to come, or have died since the plan was made: what only those
    were to hold is served on by whoever holds it, until the next plan. ``memory_bytes`` is by variant, 0 where none is
    given, and ``limit_bytes`` by worker, without limit where none is given.

    In this order: every worker of `break_first` unloads that, then those of `load_first` load, while all go on serving
    what they hold; when the rollout is `ready`, the dispatchers switch to `serves`, all at once; then `unload` follows.
    A part of the change that shares no worker with the rest (`parts_of`) may switch as soon as it `is_ready`.
    What the plan has as fallback is kept where a worker holds it already; the rest is a `FallbackLoader`'s, afterwards.
    """

    def __init__(
        self,
        plan: ClusterPlan,
        holds: Mapping[str, Held],
        memory_bytes: Mapping[str, int],
        limit_bytes: Mapping[str, float],
    ) -> None:
        self._plan = plan
        self._holds = dict(holds)
        self._failed: dict[str, dict[str, str]] = {}
        self._loading = {
            worker: tuple(sorted(missing))
            for worker, wanted in sorted(plan.held.items())
            if worker in holds and (missing := wanted - holds[worker])
        }
        self._breaking = {
            worker: given_up
            for worker in self._loading
            if worker in limit_bytes
            and (
                given_up := _given_up(
                    holds[worker], plan.held[worker], plan.beside(worker), memory_bytes, limit_bytes[worker]
                )
            )
        }
        self._awaited = set(self._loading)

    @property
    def load_first(self) -> dict[str, tuple[str, ...]]:
        """By worker the variants to load before the switch, sorted; without workers that load nothing."""
        return {worker: variants for worker, variants in self._loading.items() if worker in self._holds}

    @property
    def break_first(self) -> dict[str, Held]:
        """What workers unload before they load, where their memory does not hold old and new together.

        Meanwhile they serve only what remains. It is the least number of variants that the plan does not want there.
        """
        return {worker: variants for worker, variants in self._breaking.items() if worker in self._holds}

    def on_loaded(self, worker: str, holds: Held, failed: Mapping[str, str]) -> None:
        """The worker is done with loading and ``holds`` this now; ``failed`` has the reason by variant it cannot load.

        A worker that is not there any more is ignored.
        """
        if worker in self._holds:
            self._holds[worker] = holds
            self._failed[worker] = dict(failed)
            self._awaited.discard(worker)

    @property
    def holds(self) -> dict[str, Held]:
        """What workers hold that are still there."""
        return dict(self._holds)

    def settle_for(self, plan: ClusterPlan) -> None:
        """All workers are done with loading, and this plan asks no more of them than the one before."""
        self._plan = plan

    def on_lost(self, worker: str) -> None:
        """The worker is gone; the plan goes on without it."""
        self._holds.pop(worker, None)
        self._failed.pop(worker, None)
        self._awaited.discard(worker)

    @property
    def ready(self) -> bool:
        """Every worker of the plan that is still there holds what the plan wants: the switch may come."""
        return self.is_ready(self._plan.held)

    def is_ready(self, workers: Collection[str]) -> bool:
        """The same of these workers alone."""
        held = self._plan.held
        return all(
            held[worker] <= self._holds[worker] for worker in workers if worker in held and worker in self._holds
        )

    @property
    def hopeless(self) -> bool:
        """All workers are done with loading, and some do not hold what the plan wants."""
        return not self._awaited and not self.ready

    @property
    def failed(self) -> dict[tuple[str, str], str]:
        """By worker and variant why it could not be loaded, of workers that are still there."""
        return {(worker, variant): why for worker, own in self._failed.items() for variant, why in own.items()}

    @property
    def serves(self) -> dict[str, Held]:
        """What each worker is there for after the switch, of those that are still there."""
        plan, orphans = self._plan, self.orphans
        usable = {
            worker: (plan.usable(worker, holds) if worker in plan.held else frozenset()) | holds & orphans
            for worker, holds in self._holds.items()
        }
        return {worker: variants for worker, variants in usable.items() if variants or worker in plan.held}

    @property
    def unload(self) -> dict[str, tuple[str, ...]]:
        """By worker what it holds that the plan does not want, sorted: to unload after the switch."""
        return {
            worker: tuple(sorted(old))
            for worker, holds in sorted(self._holds.items())
            if (old := holds - self._plan.held.get(worker, frozenset()) - self._plan.beside(worker) - self.orphans)
        }

    @property
    def orphans(self) -> Held:
        """What the plan wants of workers that have died, and of none that is there: whoever holds it serves it on."""
        wanted = self._plan.held
        there = frozenset(variant for worker, own in wanted.items() if worker in self._holds for variant in own)
        dead = (own for worker, own in wanted.items() if worker not in self._holds and not is_to_come(worker))
        return frozenset().union(*dead) - there


def _given_up(holds: Held, wanted: Held, fallback: Held, memory_bytes: Mapping[str, int], limit_bytes: float) -> Held:
    """The largest unwanted variants, as many as it takes: no fewer make as much room. Fallback variants go last."""
    excess_bytes = sum(memory_bytes.get(variant, 0) for variant in holds | wanted) - limit_bytes
    found = set()
    for variant in sorted(
        holds - wanted, key=lambda variant: (variant in fallback, -memory_bytes.get(variant, 0), variant)
    ):
        if excess_bytes <= 0 or not memory_bytes.get(variant, 0):
            break
        excess_bytes -= memory_bytes[variant]
        found.add(variant)
    return frozenset(found)

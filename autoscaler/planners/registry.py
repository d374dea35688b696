"""The planners that a config can name, and what each of them decides."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from autoscaler.cluster.cluster import Cluster
from autoscaler.planners.baselines.everywhere import Everywhere
from autoscaler.planners.cocktail.cocktail_planner import CocktailPlanner
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler.planners.planner import Planner
from autoscaler.planners.proteus.options import ProteusOptions
from catalog.errors import ConfigError
from catalog.extras import Extra

FEW_WORKERS = 2
"""With fewer workers per task, a worker may hold two variants: no task should be without."""

IDLE_TIMEOUT_S = 600.0
"""Of workers that members do not need (Cocktail, section 4.2.1)."""


@dataclass(frozen=True)
class PlannerOptions:
    """What planners are made with beside the cluster: how many workers there are for each task, and what they weigh.

    ``per_worker`` is how many variants a worker may hold under planner proteus, None where that depends on the workers.
    """

    workers_per_task: float
    ipa: IpaOptions
    proteus: ProteusOptions
    per_worker: int | None = None


@dataclass(frozen=True)
class PlannerKind:
    """What a planner is able to do; where it does not, the application goes on as it was built.

    One that ``assigns`` says which variants each worker holds and which share of the queries it gets; else every worker
    holds all, and endpoints choose among them. One that plans ``by_load`` is asked again as the load changes, and may
    be given forecasts. One that ``sizes`` pools says how many workers they have. One that ``solves`` takes its time,
    and runs in a process of its own. One ``for_ensembles`` plans for members that vote, one ``for_pipelines`` for
    stages. One ``with_tables`` goes with endpoints that are served by decision tables. A pool shrinks when
    fewer workers were enough for ``shrink_after_s``. It ``needs`` an extra of the installation, or nothing.
    """

    name: str
    assigns: bool
    by_load: bool
    sizes: bool
    solves: bool
    make: Callable[[Cluster, PlannerOptions], Planner]
    needs: Extra | None = None
    for_ensembles: bool = False
    for_pipelines: bool = False
    with_tables: bool = False
    shrink_after_s: float = 60.0


def _everywhere(cluster: Cluster, options: PlannerOptions) -> Planner:
    return Everywhere(cluster)


def _proteus(cluster: Cluster, options: PlannerOptions) -> Planner:
    from autoscaler.planners.proteus.proteus_planner import ProteusPlanner  # with OR-Tools

    per_worker = options.per_worker or (2 if options.workers_per_task < FEW_WORKERS else 1)
    return ProteusPlanner(cluster, replace(options.proteus, per_worker=per_worker))


def _cocktail(cluster: Cluster, options: PlannerOptions) -> Planner:
    return CocktailPlanner(cluster)


def _ipa(cluster: Cluster, options: PlannerOptions) -> Planner:
    from autoscaler.planners.ipa.ipa_planner import IpaPlanner  # with OR-Tools

    return IpaPlanner(cluster, options.ipa)


DEFAULT = PlannerKind(
    Everywhere.name, assigns=False, by_load=False, sizes=False, solves=False, make=_everywhere, for_pipelines=True
)

PLANNERS: dict[str, PlannerKind] = {
    kind.name: kind
    for kind in (
        DEFAULT,
        PlannerKind(
            "proteus",
            assigns=True,
            by_load=True,
            sizes=True,
            solves=True,
            make=_proteus,
            needs="planning",
            with_tables=True,
        ),
        PlannerKind(
            "ipa",
            assigns=True,
            by_load=True,
            sizes=True,
            solves=True,
            make=_ipa,
            needs="planning",
            for_pipelines=True,
        ),
        PlannerKind(
            "cocktail",
            assigns=True,
            by_load=True,
            sizes=True,
            solves=False,
            make=_cocktail,
            for_ensembles=True,
            shrink_after_s=IDLE_TIMEOUT_S,
        ),
    )
}


def register(kind: PlannerKind) -> None:
    """Let configs of this process name another planner; raises ValueError for a name that is taken."""
    if kind.name in PLANNERS:
        raise ValueError(f"there is a planner {kind.name!r} already; call the other one something else")
    PLANNERS[kind.name] = kind


def planner_kind(name: str) -> PlannerKind:
    """The planner of that name; raises `ConfigError` where there is none."""
    kind = PLANNERS.get(name)
    if kind is None:
        raise ConfigError(f"planner {name!r} is unknown; use one of {', '.join(PLANNERS)}")
    return kind

"""What is asked of IPA's integer program."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Literal, get_args

from catalog.errors import ConfigError
from dispatch.selection.policy import Candidate

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Powers of two from 1 to 64 (section 4.2)."""

MOST_UPGRADES = 16

Accuracy = Literal["rank", "product", "measured"]
"""What a pipeline's accuracy is: the sum of its variants' normalised ranks (section 4.1), the natural logarithm of the
product of their accuracies, or what was measured of the whole pipeline."""


@dataclass(frozen=True)
class Option:
    """A variant on one device type: ``cost`` is that of one replica, in cores or in money."""

    candidate: Candidate
    cost: float
    device: str = ""


@dataclass(frozen=True)
class StageProblem:
    """One stage with its ``options``. ``after`` names the stages whose outputs it takes.

    ``jobs_per_query`` is how many jobs a query makes of it on average: more than 1 where it is cut into parts, less
    where it depends on a condition. A job of ``rows_per_job`` rows counts as so many, and is run in one batch.
    """

    name: str
    after: tuple[str, ...]
    options: tuple[Option, ...]
    jobs_per_query: float = 1.0
    rows_per_job: int = 1

    def __post_init__(self) -> None:
        """Raise `ConfigError` for a stage that nothing can be planned with."""
        if not self.options:
            raise ConfigError(f"stage {self.name!r} has no options; give it at least one variant")
        if not 0 <= self.jobs_per_query < inf:
            raise ConfigError(f"stage {self.name!r}: jobs_per_query is {self.jobs_per_query:g}; give a number from 0")
        if self.rows_per_job < 1:
            raise ConfigError(f"stage {self.name!r}: rows_per_job is {self.rows_per_job}; give a number from 1")
        for option in self.options:
            where = f"stage {self.name!r}, variant {option.candidate.variant!r}"
            if not 0 <= option.cost < inf:
                raise ConfigError(f"{where}: cost is {option.cost:g}; give a number from 0")
            if not 0 <= option.candidate.accuracy <= 1:
                raise ConfigError(f"{where}: accuracy is {option.candidate.accuracy:g}; give it from 0 to 1")
            if option.candidate.max_batch < 1:
                raise ConfigError(f"{where} has no latency; give that of one row at least")
            if not all(0 < latency_s < inf for latency_s in option.candidate.latency_s[1:]):
                raise ConfigError(f"{where}: a latency is not a time above 0; measure its profile again")
        keys = [(option.candidate.variant, option.device) for option in self.options]
        for variant, device in keys:
            if keys.count((variant, device)) > 1:
                on = f" on {device!r}" if device else ""
                raise ConfigError(f"stage {self.name!r} has variant {variant!r}{on} twice; give it once")

    def qps(self, candidate: Candidate, batch_rows: int) -> float:
        """Rows per second that one replica bears in batches of up to so many: whole jobs, as many as fit.

        Batches below one job are such as `Candidate.of_whole_jobs` has them.
        """
        rows = batch_rows // self.rows_per_job * self.rows_per_job or batch_rows
        return rows / candidate.cycle_s[rows]


@dataclass(frozen=True)
class PipelineProblem:
    """One pipeline, its stages each behind those that it takes from, and the load to be served within ``slo_s``.

    ``measured_accuracy`` is by the variants of the stages, in their order.
    """

    name: str
    slo_s: float
    load_qps: float
    stages: tuple[StageProblem, ...]
    measured_accuracy: Mapping[tuple[str, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `ConfigError` for a pipeline that nothing can be planned with."""
        if not 0 < self.slo_s < inf:
            raise ConfigError(f"pipeline {self.name!r}: slo_s is {self.slo_s:g}; give a time above 0")
        if not 0 <= self.load_qps < inf:
            raise ConfigError(f"pipeline {self.name!r}: load_qps is {self.load_qps:g}; give a finite number from 0")
        if not self.stages:
            raise ConfigError(f"pipeline {self.name!r} has no stages; give it at least one")
        known: set[str] = set()
        for stage in self.stages:
            for source in stage.after:
                if source not in known:
                    raise ConfigError(
                        f"pipeline {self.name!r}: stage {stage.name!r} takes from {source!r}, which is not "
                        f"among the stages before it ({', '.join(sorted(known)) or 'none'}); "
                        "put it behind those that it takes from"
                    )
            if stage.name in known:
                raise ConfigError(f"pipeline {self.name!r} has stage {stage.name!r} twice; give it once")
            known.add(stage.name)
        for variants, accuracy in self.measured_accuracy.items():
            if len(variants) != len(self.stages) or not 0 <= accuracy <= 1:
                raise ConfigError(
                    f"pipeline {self.name!r}: measured accuracy of {variants} is {accuracy:g}; give one from 0 to 1 "
                    f"for a variant of each of the {len(self.stages)} stages"
                )


@dataclass(frozen=True)
class IpaOptions:
    """The weights of equation 8: ``alpha`` of accuracy, ``beta`` of cost, ``delta`` of batch sizes.

    With ``several`` a stage may have more than one active variant (an extension; the paper has one). A solve ends after
    ``time_limit_s`` with the best plan so far and its gap. The planner plans for ``headroom`` times the load, where
    there are workers for that: equation 9c has none, and the queue of a stage that is always busy has no bound. Its
    workers hold up to so many ``upgrades``, more accurate variants of their stage beside the planned one, and up to so
    many faster ones as ``fallback`` (extensions).
    """

    alpha: float = 1.0
    beta: float = 0.01
    delta: float = 1e-6
    accuracy: Accuracy = "rank"
    batch_sizes: tuple[int, ...] = BATCH_SIZES
    several: bool = False
    time_limit_s: float = 10.0
    headroom: float = 1.0
    upgrades: int = 0
    fallback: int = 0

    def __post_init__(self) -> None:
        """Raise `ConfigError` for values that nothing can be planned with."""
        sizes = self.batch_sizes
        for name, value, fits, wanted in (
            ("alpha", self.alpha, 0 <= self.alpha < inf, "a number from 0"),
            ("beta", self.beta, 0 <= self.beta < inf, "a number from 0"),
            ("delta", self.delta, 0 <= self.delta < inf, "a number from 0"),
            ("accuracy", self.accuracy, self.accuracy in get_args(Accuracy), f"one of {', '.join(get_args(Accuracy))}"),
            (
                "batch_sizes",
                sizes,
                1 in sizes and min(sizes) == 1 and len(set(sizes)) == len(sizes),
                "whole numbers from 1, each once, with 1 among them: a load that fills no batch is served with it",
            ),
            (
                "time_limit_s",
                self.time_limit_s,
                self.time_limit_s > 0 and isfinite(self.time_limit_s),
                "a time above 0",
            ),
            ("headroom", self.headroom, 1 <= self.headroom < inf, "a number from 1"),
            ("upgrades", self.upgrades, 0 <= self.upgrades <= MOST_UPGRADES, f"a number from 0 to {MOST_UPGRADES}"),
            ("fallback", self.fallback, 0 <= self.fallback <= MOST_UPGRADES, f"a number from 0 to {MOST_UPGRADES}"),
            (
                "several",
                self.several,
                not (self.several and self.accuracy == "measured"),
                "False with measured accuracies, which are of pipelines with one variant a stage",
            ),
        ):
            if not fits:
                raise ConfigError(f"{name} of the IPA planner is {value!r}; give {wanted}")


@dataclass(frozen=True)
class Workers:
    """How many workers of each device type there may be in all; those that are missing have no limit."""

    limits: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `ConfigError` for a limit that is no number."""
        for device, limit in self.limits.items():
            if limit < 0:
                raise ConfigError(f"workers of device {device!r} are limited to {limit}; give a number from 0")

    def limit(self, device: str) -> float:
        """Of one device type."""
        return self.limits.get(device, inf)

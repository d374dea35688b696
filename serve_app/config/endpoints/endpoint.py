"""``endpoints`` of the config: what clients call, and its latency objective."""

from typing import Any, get_args

from pydantic import Field, field_validator, model_validator

from dispatch.balancing.registry import BALANCERS
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.nexus import EarlyDrop
from dispatch.plan import EndpointLimits
from dispatch.selection.ramsis.problem import Balancing
from dispatch.selection.registry import CENTRAL
from serve_app.config.endpoints.admission import AdmissionConfig
from serve_app.config.endpoints.ensemble import EnsembleConfig
from serve_app.config.endpoints.pipeline import PipelineConfig
from serve_app.config.endpoints.selection import SelectionConfig
from serve_app.config.endpoints.shadow import ShadowConfig
from serve_app.config.endpoints.stacked import StackedConfig
from serve_app.config.strict import Name, Strict, one_of

TABLE_BALANCERS: tuple[str, ...] = get_args(Balancing)
"""What tables can be made for."""

GIVING_UP = (AdaptiveBatching.name, EarlyDrop.name)
"""Policies that refuse what the worker at hand cannot meet."""

SHARED_QUEUES = ("central", "bin_packing")
"""Balancing with which all workers take from one queue."""


def _default_balancing(validated: dict[str, Any]) -> str:
    """Pipelines and policies by load take batches from one queue, members of an ensemble from the shortest one, others
    in turn."""
    if validated.get("pipeline") is not None:
        return "central"
    if validated.get("ensemble") is not None:
        return "shortest_queue"
    selection = validated.get("selection")
    return "central" if selection is not None and selection.policy in CENTRAL else "round_robin"


class EndpointConfig(Strict):
    """What clients call, and its latency objective."""

    task: str = Field(default="", description="which variants may answer; none where there is a `pipeline`")
    slo_ms: float = Field(
        gt=0, description="latency objective in milliseconds: the deadline of a query that asks for none of its own"
    )
    selection: SelectionConfig = Field(
        default=SelectionConfig(), description="which variant runs the next batch, and how many rows"
    )
    ensemble: EnsembleConfig | None = Field(
        default=None, description="let several variants vote on a query; `{}` is enough"
    )
    stacked: StackedConfig | None = Field(
        default=None, description="ensembles that one worker runs, as variants beside those of the task"
    )
    pipeline: PipelineConfig | None = Field(
        default=None, description="several tasks instead of one, which follow one another"
    )
    balancing: str = Field(
        default_factory=_default_balancing,
        description="`round_robin`, `shortest_queue` by rows queued and running, `central`, one queue that idle "
        "workers take from (the default with policies by load, and for each stage of a pipeline), or `bin_packing`, "
        "the same where of several idle workers the one with the smallest batches is first",
    )
    variants: tuple[str, ...] | None = Field(
        default=None, description="names of the task's variants to keep to; `null`: all"
    )
    pools: tuple[Name, ...] | None = Field(
        default=None, min_length=1, description="names of the pools whose workers serve the endpoint; `null`: all"
    )
    drop_late: bool = Field(
        default=False,
        description="answer a query whose deadline passes in the queue with 504 at once, instead of late",
    )
    max_queued_rows: int = Field(
        default=2000,
        ge=1,
        description="rows that may wait on all workers together, those of an ensemble once for each member; more get "
        "429",
    )
    padding_share: float = Field(
        default=0.25,
        ge=0,
        lt=1,
        description="where inputs may be of any length: how much of a batch may be padding; less makes more, smaller "
        "batches",
    )

    admission: AdmissionConfig | None = Field(
        default=None,
        description="refuse at arrival what cannot be met; `{}` is enough. `null`: it waits, and is answered late",
    )
    shadow: ShadowConfig | None = Field(
        default=None,
        description="estimate the accuracy of variants while they serve, by comparing some answers with the most "
        "accurate variant's; `{}` is enough ([accuracy.md](accuracy.md#while-it-runs))",
    )

    @property
    def limits(self) -> EndpointLimits:
        """What the endpoint is held to."""
        admission = None if self.admission is None else self.admission.rules
        return EndpointLimits(self.slo_ms / 1e3, self.drop_late, self.max_queued_rows, admission)

    @property
    def policy(self) -> str | None:
        """The policy that chooses variants; None where members are chosen, or the variants of stages."""
        return self.selection.policy if self.ensemble is None and self.pipeline is None else None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Its task, or those of its stages."""
        return (self.task,) if self.pipeline is None else tuple(each.task for each in self.pipeline.stages.values())

    @field_validator("balancing")
    @classmethod
    def _known(cls, value: str) -> str:
        return one_of(value, BALANCERS)

    @model_validator(mode="after")
    def _task_or_pipeline(self) -> "EndpointConfig":
        if self.pipeline is None:
            if not self.task:
                raise ValueError("task is missing; name the task whose variants answer, or give a pipeline of several")
            return self
        for field, value in (
            ("task", self.task),
            ("ensemble", self.ensemble),
            ("stacked", self.stacked),
            ("variants", self.variants),
        ):
            if value:
                of_stage = field in ("task", "variants")
                raise ValueError(
                    f"{field} and pipeline are both given; "
                    + (f"give {field} of each of pipeline.stages" if of_stage else "the stages of a pipeline have none")
                    + f", and remove {field}"
                )
        return self

    @model_validator(mode="after")
    def _one_variant_answers(self) -> "EndpointConfig":
        for field, value in (("pipeline", self.pipeline), ("ensemble", self.ensemble)):
            if self.shadow is not None and value is not None:
                raise ValueError(
                    f"shadow and {field} are both given; one variant's answer is compared with another's, where one "
                    f"answers: remove shadow, or {field}"
                )
        return self

    @model_validator(mode="after")
    def _balancing_for_policy(self) -> "EndpointConfig":
        if self.pipeline is not None:
            if "selection" in self.model_fields_set:
                raise ValueError(
                    f"selection.policy is {self.selection.policy!r}, and each stage of a pipeline runs the most "
                    "accurate variant that leaves enough time for the stages behind it; remove selection"
                )
            return self
        if self.ensemble is not None:
            if self.stacked is not None:
                raise ValueError(
                    "stacked and ensemble are both given, and the members of an ensemble run on workers of their own; "
                    "give one of them"
                )
            if "selection" in self.model_fields_set:
                raise ValueError(
                    f"selection.policy is {self.selection.policy!r}, and the members of an ensemble are chosen by "
                    "`ensemble`; remove selection, or ensemble"
                )
            return self
        if self.selection.policy == "ramsis" and self.balancing not in TABLE_BALANCERS:
            raise ValueError(
                f"balancing is {self.balancing!r}, and policy 'ramsis' plans for a queue per worker; use one of "
                f"{', '.join(TABLE_BALANCERS)}, or another policy"
            )
        if self.selection.formulation == "per_query" and self.balancing == "shortest_queue":
            raise ValueError(
                "selection.formulation is 'per_query', and queues joined by length have no process per query; use "
                "balancing round_robin, or formulation per_decision"
            )
        if self.selection.policy in CENTRAL and self.balancing != "central":
            raise ValueError(
                f"balancing is {self.balancing!r}, and policy {self.selection.policy!r} takes batches from one queue "
                "that all share; use central, which is the default with it, or another policy"
            )
        if self.selection.policy in GIVING_UP and self.balancing in SHARED_QUEUES:
            raise ValueError(
                f"balancing is {self.balancing!r}, and policy {self.selection.policy!r} gives up what one worker "
                "cannot meet, out of a queue that all share; use round_robin or shortest_queue, or another policy"
            )
        return self

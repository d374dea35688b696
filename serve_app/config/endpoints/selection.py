"""``selection`` of an endpoint: which policy picks the variant of a batch."""

from itertools import pairwise

from pydantic import Field, field_validator, model_validator

from dispatch.selection.load_based import load_ladder
from dispatch.selection.ramsis.problem import Formulation
from dispatch.selection.registry import POLICIES
from serve_app.config.strict import Strict, one_of


class RungConfig(Strict):
    """One variant serves loads up to a bound."""

    below_qps: float | None = Field(
        default=None, gt=0, description="queries per second, of all workers together; `null`: all higher loads"
    )
    variant: str = Field(description="which variant serves these loads")
    max_rows: int | None = Field(
        default=None,
        ge=1,
        description="its largest batch; `null`: the largest whose p95 is at most half of the objective",
    )


class SelectionConfig(Strict):
    """Which policy picks the variant of a batch."""

    policy: str = Field(default="ramsis", description="see [selection](#selection)")
    variant: str | None = Field(default=None, description="the variant of policy `fixed`")
    ladder: tuple[RungConfig, ...] | None = Field(
        default=None,
        min_length=1,
        description="the rungs of policy `load_ladder`, ascending by load; the last is for all loads above the others",
    )

    formulation: Formulation | None = Field(
        default=None,
        description="what the tables of policy `ramsis` are made by: `per_query`, or the paper's `per_decision` "
        "([ramsis.md](ramsis.md#two-formulations)); `null`: `per_query`, with `shortest_queue` `per_decision`",
    )

    @field_validator("policy")
    @classmethod
    def _known(cls, value: str) -> str:
        if value == "proteus":
            raise ValueError("'proteus' is called adaptive_batching now; only controller.planner has kept that name")
        return one_of(value, POLICIES)

    @field_validator("ladder")
    @classmethod
    def _ascending(cls, value: tuple[RungConfig, ...] | None) -> tuple[RungConfig, ...] | None:
        rungs = value or ()
        for number, rung in enumerate(rungs[:-1]):
            if rung.below_qps is None:
                raise ValueError(f"below_qps of rung {number} is missing; only the last may do without it")
        if rungs and rungs[-1].below_qps is not None:
            raise ValueError(
                f"below_qps of rung {len(rungs) - 1} is {rungs[-1].below_qps:g}, and nothing serves higher "
                "loads; add a last one without below_qps, or remove it"
            )
        limits_qps = [rung.below_qps for rung in rungs if rung.below_qps is not None]
        for number, (lower_qps, higher_qps) in enumerate(pairwise(limits_qps), start=1):
            if higher_qps <= lower_qps:
                raise ValueError(
                    f"below_qps of rung {number} is {higher_qps:g}, no more than {lower_qps:g} before it; "
                    "let them ascend"
                )
        return value

    @model_validator(mode="after")
    def _what_the_policy_needs(self) -> "SelectionConfig":
        self._only_with("fixed", "variant", self.variant, "serves one variant: name it")
        self._only_with(load_ladder.NAME, "ladder", self.ladder, "serves by it: say which variant serves which loads")
        if self.formulation is not None and self.policy != "ramsis":
            raise ValueError(
                f"formulation is {self.formulation!r}, but policy {self.policy!r} has no tables; remove it or use "
                "policy 'ramsis'"
            )
        return self

    def _only_with(self, policy: str, field: str, value: object, why: str) -> None:
        """Raise ValueError where this policy lacks the field, or another has it."""
        if self.policy == policy and value is None:
            raise ValueError(f"{field} is missing; policy {policy!r} {why}")
        if self.policy != policy and value is not None:
            given = repr(value) if isinstance(value, str) else "given"
            raise ValueError(
                f"{field} is {given}, but policy {self.policy!r} does without; remove it or use policy {policy!r}"
            )

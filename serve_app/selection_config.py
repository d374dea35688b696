"""``selection`` of an endpoint: which policy picks the variant of a batch."""

from itertools import pairwise

from pydantic import Field, field_validator, model_validator

from dispatch.selection import load_ladder
from dispatch.selection.registry import POLICIES
from serve_app.strict import Strict, one_of


class RungConfig(Strict):
    """``variant`` serves loads below ``below_qps``, of all workers of the config together; None is for all higher ones.

    ``max_rows`` is its largest batch; None takes the largest whose p95 is at most half the objective.
    """

    below_qps: float | None = Field(default=None, gt=0)
    variant: str
    max_rows: int | None = Field(default=None, ge=1)


class SelectionConfig(Strict):
    """Which policy picks the variant of a batch; ``variant`` belongs to ``fixed`` alone, ``ladder`` to ``load_ladder``.

    The rungs of ``ladder`` ascend by load, and the last is for all loads above the others.
    """

    policy: str = "ramsis"
    variant: str | None = None
    ladder: tuple[RungConfig, ...] | None = Field(default=None, min_length=1)

    @field_validator("policy")
    @classmethod
    def _known(cls, value: str) -> str:
        return one_of("selection.policy", value, POLICIES)

    @field_validator("ladder")
    @classmethod
    def _ascending(cls, value: tuple[RungConfig, ...] | None) -> tuple[RungConfig, ...] | None:
        rungs = value or ()
        for number, rung in enumerate(rungs[:-1]):
            if rung.below_qps is None:
                raise ValueError(f"selection.ladder[{number}].below_qps is missing; only the last may do without it")
        if rungs and rungs[-1].below_qps is not None:
            raise ValueError(
                f"selection.ladder[{len(rungs) - 1}].below_qps is {rungs[-1].below_qps:g}, and nothing serves higher "
                "loads; add a last one without below_qps, or remove it"
            )
        limits_qps = [rung.below_qps for rung in rungs if rung.below_qps is not None]
        for number, (lower_qps, higher_qps) in enumerate(pairwise(limits_qps), start=1):
            if higher_qps <= lower_qps:
                raise ValueError(
                    f"selection.ladder[{number}].below_qps is {higher_qps:g}, no more than {lower_qps:g} before it; "
                    "let them ascend"
                )
        return value

    @model_validator(mode="after")
    def _variant_with_fixed(self) -> "SelectionConfig":
        if self.policy == "fixed" and self.variant is None:
            raise ValueError("selection.variant is missing; policy 'fixed' serves one variant: name it")
        if self.policy != "fixed" and self.variant is not None:
            raise ValueError(
                f"selection.variant is {self.variant!r}, but policy {self.policy!r} chooses for itself; "
                "remove it or use policy 'fixed'"
            )
        return self

    @model_validator(mode="after")
    def _ladder_with_load_ladder(self) -> "SelectionConfig":
        if self.policy == load_ladder.NAME and self.ladder is None:
            raise ValueError(
                f"selection.ladder is missing; policy {load_ladder.NAME!r} serves by it: say which variant serves "
                "which loads"
            )
        if self.policy != load_ladder.NAME and self.ladder is not None:
            raise ValueError(
                f"selection.ladder is given, but policy {self.policy!r} has none; remove it or use policy "
                f"{load_ladder.NAME!r}"
            )
        return self

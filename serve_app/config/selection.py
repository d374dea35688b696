"""``selection`` of an endpoint: which policy picks the variant of a batch."""

from itertools import pairwise

from pydantic import Field, field_validator, model_validator

from dispatch.selection.load_based import load_ladder
from dispatch.selection.registry import POLICIES
from serve_app.config.strict import Strict, one_of


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
    def _what_the_policy_needs(self) -> "SelectionConfig":
        self._only_with("fixed", "variant", self.variant, "serves one variant: name it")
        self._only_with(load_ladder.NAME, "ladder", self.ladder, "serves by it: say which variant serves which loads")
        return self

    def _only_with(self, policy: str, field: str, value: object, why: str) -> None:
        """Raise ValueError where this policy lacks the field, or another has it."""
        if self.policy == policy and value is None:
            raise ValueError(f"selection.{field} is missing; policy {policy!r} {why}")
        if self.policy != policy and value is not None:
            given = repr(value) if isinstance(value, str) else "given"
            raise ValueError(
                f"selection.{field} is {given}, but policy {self.policy!r} does without; remove it or use policy "
                f"{policy!r}"
            )

"""Several variants of one task on one worker, one after the other on the same batch: an ensemble as one variant."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from catalog.errors import ArtifactError, ConfigError
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import ModelRuntime, Tensors
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.tally import Tally

_VARIANT = TypeAdapter(Variant)
_BALLOTS = TypeAdapter(Ballots)


def stacked_options(
    members: Sequence[Variant], ballots: Ballots, weights: list[list[float]], against: list[list[float]]
) -> dict[str, Any]:
    """What such a variant carries: its members as a catalogue has them, and the weights of their votes."""
    return {
        "members": [_VARIANT.dump_python(member, mode="json") for member in members],
        "ballots": _BALLOTS.dump_python(ballots),
        "weights": weights,
        "against": against,
    }


def members_of(variant: Variant) -> tuple[Variant, ...]:
    """The variants that a stacked one runs; raises `ConfigError` where its options are not right."""
    wrong = f"variant {variant.name!r}: options of runtime 'stacked' are not right"
    members = variant.options.get("members")
    if not isinstance(members, list | tuple):
        raise ConfigError(f"{wrong}: members is {members!r}; give a list of variants")
    try:
        return tuple(_VARIANT.validate_python(each) for each in members)
    except ValueError as error:
        raise ConfigError(f"{wrong}: {error}") from error


class StackedRuntime:
    """A `ModelRuntime` of others; its outputs are the class-weighted vote's.

    A member that raises fails the batch: where members are to fail alone they stand on workers of their own.
    """

    def __init__(self, variant: Variant, members: Sequence[ModelRuntime]) -> None:
        self._variant = variant
        self._members = tuple(members)
        options: Mapping[str, Any] = variant.options
        self._ballots: Ballots = _BALLOTS.validate_python(options["ballots"])
        self._weights: list[list[float]] = options["weights"]
        self._against: list[list[float]] = options["against"]
        self._loaded = False

    def load(self) -> None:
        """See `ModelRuntime.load`."""
        for member in self._members:
            member.load()
        self._loaded = True
        base.trial_run(self, self._variant)

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`."""
        if not self._loaded:
            raise RuntimeError(f"variant {self._variant.name!r} is not loaded")
        rows = len(next(iter(inputs.values())))
        tallies = [Tally(self._weights, self._against) for _ in range(rows)]
        for column, member in enumerate(self._members):
            try:
                said = self._ballots.read(member.run(inputs), rows)
            except ValueError as error:
                raise ArtifactError(f"variant {self._variant.name!r}: {error}") from error
            for tally, label in zip(tallies, said, strict=True):
                tally.add(column, label)
        voted = self._ballots.write(tallies)
        outputs = {spec.name: np.asarray(voted[spec.name], spec.dtype) for spec in self._variant.outputs}
        base.check_outputs(self._variant, outputs, rows, base.batch_length(self._variant, inputs))
        return outputs

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        self._loaded = False
        for member in self._members:
            member.unload()

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`."""
        return sum(member.memory_bytes() for member in self._members)

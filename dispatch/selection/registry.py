"""Selection policies by the name that a config gives."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from catalog.errors import ConfigError
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.batching.nexus import EarlyDrop
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.load_based import jellyfish, load_ladder, model_switching
from dispatch.selection.policy import SelectionPolicy
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.slack_fit import SlackFitSelection

TIMER_MARGIN_S = 0.002
"""How late the timer of a live host may come."""

BATCHING: Mapping[str, SelectionPolicy] = MappingProxyType(
    {policy.name: policy for policy in (AdaptiveBatching(TIMER_MARGIN_S), EarlyDrop(), AdditiveIncrease())}
)
"""Policies that leave the variant to whoever loaded the worker."""

LADDERS = (jellyfish.NAME, model_switching.NAME, load_ladder.NAME)
"""Policies that decide by the load alone."""

MADE = (RamsisSelection.name, *LADDERS)
"""Policies that are made beforehand, for the endpoint's variants, objective and workers."""

CENTRAL = (*LADDERS, SlackFitSelection.name)
"""Policies whose workers take batches from one central queue."""

WAITING = (AdditiveIncrease.name,)
"""Policies that want to know what became of each batch before they decide on the next."""

POLICIES = (
    RamsisSelection.name,
    GreedySelection.name,
    SlackFitSelection.name,
    FixedSelection.name,
    *LADDERS,
    *BATCHING,
)


def create_selection(
    policy: str, variant: str | None, known_variants: Iterable[str], made: SelectionPolicy | None = None
) -> SelectionPolicy:
    """The policy of that name for a task with ``known_variants``; ``made`` is the policy itself for those of `MADE`.

    Raises `ConfigError` for an unknown policy, a ``fixed`` one without its variant or with one that the task
    does not have, for a variant given to a policy that chooses for itself, and for one of `MADE` that is not made.
    """
    known = tuple(known_variants)
    if policy == FixedSelection.name:
        if variant is None:
            raise ConfigError(f"selection policy 'fixed' needs 'variant'; choose one of {', '.join(known)}")
        if variant not in known:
            raise ConfigError(f"selection variant {variant!r} does not do this task; choose one of {', '.join(known)}")
        return FixedSelection(variant)
    if variant is not None:
        raise ConfigError(
            f"selection policy {policy!r} takes no 'variant' (given: {variant!r}); remove it or use 'fixed'"
        )
    if policy == GreedySelection.name:
        return GreedySelection()
    if policy == SlackFitSelection.name:
        return SlackFitSelection()
    if policy in BATCHING:
        return BATCHING[policy]
    if policy in MADE:
        if made is None or made.name != policy:
            found = "nothing" if made is None else repr(made.name)
            raise ConfigError(
                f"selection policy {policy!r} is made beforehand, and {found} was; make it for the endpoint's workers"
            )
        return made
    raise ConfigError(f"unknown selection policy {policy!r}; known: {', '.join(POLICIES)}")

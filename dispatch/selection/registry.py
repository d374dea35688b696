"""Selection policies by the name that a config gives."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from catalog.errors import ConfigError
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.batching.nexus import EarlyDrop
from dispatch.batching.proteus import AdaptiveBatching
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import SelectionPolicy
from dispatch.selection.ramsis.grid import TableGrid
from dispatch.selection.ramsis.policy import RamsisSelection

TIMER_MARGIN_S = 0.002
"""How late the timer of a live host may come."""

BATCHING: Mapping[str, SelectionPolicy] = MappingProxyType(
    {policy.name: policy for policy in (AdaptiveBatching(TIMER_MARGIN_S), EarlyDrop(), AdditiveIncrease())}
)
"""Policies that leave the variant to whoever loaded the worker."""

POLICIES = (RamsisSelection.name, GreedySelection.name, FixedSelection.name, *BATCHING)


def create_selection(
    policy: str,
    variant: str | None,
    known_variants: Iterable[str],
    grids: Mapping[str, TableGrid] | None = None,
) -> SelectionPolicy:
    """The policy of that name for a task with ``known_variants``; ``grids`` are the tables of ``ramsis`` by device, if there are any yet.

    Raises `ConfigError` for an unknown policy, a ``fixed`` one without its variant or with one that the task
    does not have, and for a variant given to a policy that chooses for itself.
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
    if policy in BATCHING:
        return BATCHING[policy]
    if policy == RamsisSelection.name:
        return RamsisSelection(grids or {})
    raise ConfigError(f"unknown selection policy {policy!r}; known: {', '.join(POLICIES)}")

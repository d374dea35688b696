"""Selection policies by the name that a config gives."""

from collections.abc import Iterable

from catalog.errors import ConfigError
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import SelectionPolicy

POLICIES = (FixedSelection.name, GreedySelection.name)


def create_selection(policy: str, variant: str | None, known_variants: Iterable[str]) -> SelectionPolicy:
    """The policy of that name for a task with ``known_variants``.

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
    raise ConfigError(f"unknown selection policy {policy!r}; known: {', '.join(POLICIES)}")

"""From the config of ``shadow`` to what the dispatcher compares."""

from collections.abc import Sequence
from itertools import permutations

from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.evaluation.interval import wilson
from catalog.variant import Variant
from catalog.votes import RecordedVotes, read_votes
from dispatch.shadow.rules import Right, ShadowRules, Together
from serve_app.build.endpoints.ensembles import ballots_of, no_ballots
from serve_app.config.endpoints.endpoint import EndpointConfig

CLASSES_RIGHT = "accuracy"
"""The metric that is the share of rows whose class is right, which is what agreement tells of."""

JUDGED_BY = ("test", "dev")
"""Splits of recorded votes, the better one first: accuracies are measured on the first."""


def shadow_rules(
    name: str, endpoint: EndpointConfig, catalogue: Catalogue, variants: Sequence[Variant]
) -> ShadowRules | None:
    """What is compared, None where nothing is; raises `ConfigError` where answers cannot be compared.

    Votes of a variant that is another model by now say nothing of it (`Catalogue.outdated`).
    """
    if endpoint.shadow is None:
        return None
    ballots = ballots_of(variants[0])
    if ballots is None:
        raise ConfigError(
            f"endpoints.{name}.shadow: answers are compared by class, and {no_ballots(variants[0])}, or remove shadow"
        )
    path = catalogue.votes.get(endpoint.task)
    measured = [(each.name, each.accuracy, each.measured) for each in variants if each.measured is not None]
    right = {name: Right(accuracy, by.low) for name, accuracy, by in measured if by.metric == CLASSES_RIGHT}
    if path is None:
        return ShadowRules(endpoint.shadow.share, ballots, {}, right, endpoint.shadow.seed)
    votes = _judging(path)
    recorded = set(votes.members) - catalogue.outdated.get(path, frozenset())
    names = [variant.name for variant in variants if variant.name in recorded]
    right |= {name: _right(votes, name) for name in names}
    return ShadowRules(endpoint.shadow.share, ballots, _together(votes, names), right, endpoint.shadow.seed)


def _right(votes: RecordedVotes, variant: str) -> Right:
    """The share of recorded rows that a variant got right, whatever metric its accuracy is by."""
    share = votes.accuracies[variant]
    return Right(share, wilson(share * votes.rows, votes.rows)[0])


def _judging(path: str) -> RecordedVotes:
    splits = read_votes(path)
    return next(splits[split] for split in JUDGED_BY if split in splits)


def _together(votes: RecordedVotes, variants: Sequence[str]) -> dict[tuple[str, str], Together]:
    """By ordered pair of variants whose votes were recorded."""
    said = {name: votes.predictions[:, column] for column, name in enumerate(votes.members) if name in variants}
    return {
        (one, other): Together(
            votes.rows, int((said[one] == votes.labels).sum()), int((said[one] == said[other]).sum())
        )
        for one, other in permutations(said, 2)
    }

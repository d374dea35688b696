"""From the config of an ensemble to how its endpoint is served."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from catalog.catalogue import Catalogue
from catalog.errors import ConfigError, ConstraintUnmet
from catalog.evaluation.accuracy_file import answers_digest, fingerprint
from catalog.evaluation.class_outputs import class_outputs, why_no_class
from catalog.tensor import TensorSpec
from catalog.variant import Variant
from catalog.votes import RecordedVotes, read_votes
from dispatch.balancing.registry import create_balancer
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.chooser import CHOOSERS, MemberChooser, WavesChooser
from dispatch.ensemble.member import Constraint, Member
from dispatch.ensemble.selector import MemberSelector
from dispatch.ensemble.weights import ClassWeights
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.lengths.stage_lengths import StageLengths
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from serve_app.config.endpoints.endpoint import EndpointConfig

LEARNED_FROM = "dev"
"""The split of recorded votes that weights and sets of members may see."""

MOST_MEMBERS = 62
"""Sets of members are bits of a 64-bit integer where their votes are recorded (`dispatch.ensemble.cascades`)."""


def ensemble_plan(
    name: str,
    endpoint: EndpointConfig,
    catalogue: Catalogue,
    variants: Sequence[Variant],
    candidates: Mapping[str, tuple[Candidate, ...]],
    lengths: Mapping[str, StageLengths | None],
) -> EndpointPlan:
    """How an endpoint with an ensemble of these variants is served: one stage for each; raises `ConfigError`.

    ``lengths`` are by variant, None for those whose costs do not depend on the length.
    """
    config = endpoint.ensemble
    assert config is not None
    ballots = _needed_ballots(name, variants[0])
    path = config.votes or catalogue.votes.get(endpoint.task)
    where = f"endpoints.{name}.ensemble.votes"
    votes = None if path is None else recorded_votes(where, path, variants, ballots.classes, catalogue)
    if votes is not None and len(variants) > MOST_MEMBERS:
        raise ConfigError(
            f"endpoints.{name}.ensemble: {len(variants)} variants; recorded votes say of {MOST_MEMBERS} at most who "
            "should vote; name fewer under the endpoint's variants"
        )
    members = [_member(variant, candidates) for variant in variants]
    accuracies = {variant.name: variant.accuracy for variant in variants}
    weights = ClassWeights(accuracies, ballots.classes) if votes is None else ClassWeights.learned(votes)
    selector = MemberSelector(members, votes)
    if config.choose == WavesChooser.name:
        selector.prepare()
    chooser = CHOOSERS[config.choose](selector)
    flow = EnsembleFlow(chooser, weights, ballots, accuracy=config.accuracy, best_effort=config.best_effort)
    if not config.best_effort:
        _check_objective(name, flow.constraint_of(endpoint.limits.slo_s), CHOOSERS[config.choose](selector), accuracies)
    pools = None if endpoint.pools is None else frozenset(endpoint.pools)
    stages = {
        variant.name: StagePlan(
            {device: tuple(c for c in own if c.variant == variant.name) for device, own in candidates.items()},
            GreedySelection(),
            create_balancer(endpoint.balancing),
            pools=pools,
            lengths=lengths[variant.name],
        )
        for variant in variants
    }
    return EndpointPlan(name, endpoint.limits, stages, flow)


def _check_objective(name: str, constraint: Constraint, chooser: MemberChooser, members: Collection[str]) -> None:
    try:
        chooser.choose(constraint, members, 0.0)
    except ConstraintUnmet as error:
        raise ConfigError(
            f"endpoints.{name}: queries that ask for nothing of their own would all be refused: {error}. Members may "
            "run for half of slo_ms, the other half is for queues and the way: raise slo_ms, lower ensemble.accuracy, "
            "or set ensemble.best_effort: true"
        ) from error


def ballots_of(variant: Variant) -> Ballots | None:
    """Which outputs say the class (`class_outputs`); None where none does."""
    found = class_outputs(variant.outputs, len(variant.labels))
    if found is None:
        return None
    label, scores = found.label, found.scores
    return Ballots(found.classes, None if label is None else label.name, None if scores is None else scores.name)


def no_ballots(variant: Variant) -> str:
    """What the outputs are, and why `ballots_of` are None, with what to do."""
    given = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in variant.outputs)
    named = f" and there are {len(variant.labels)} labels" if variant.labels else ""
    why = why_no_class(variant.outputs, len(variant.labels))
    return f"the outputs of task {variant.task!r} are {given}{named}: {why}"


def voted_outputs(variant: Variant) -> tuple[TensorSpec, ...]:
    """The outputs of a vote among such variants: those that say the class, all where none does."""
    ballots = ballots_of(variant)
    return tuple(spec for spec in variant.outputs if ballots is None or spec.name in (ballots.label, ballots.scores))


def model_names(variants: Sequence[Variant], root: str) -> dict[str, str]:
    """A name for each that it does not share with another model, other options or other classes under its name."""
    return {each.name: f"{each.name} {fingerprint(each, root)[:16]} {answers_digest(each)}" for each in variants}


def _needed_ballots(name: str, variant: Variant) -> Ballots:
    ballots = ballots_of(variant)
    if ballots is None:
        raise ConfigError(
            f"endpoints.{name}.ensemble: members vote on classes, and {no_ballots(variant)}, or remove ensemble"
        )
    return ballots


def recorded_votes(
    where: str, path: str, variants: Sequence[Variant], classes: int, catalogue: Catalogue
) -> RecordedVotes:
    """Votes of these variants to learn from; raises `ConfigError` that names the field ``where``.

    Votes that another model gave than the ``catalogue`` has by now are refused: weights would be the old model's.
    """
    try:
        recorded = read_votes(path).get(LEARNED_FROM)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    if recorded is None:
        raise ConfigError(f"{where}: {path} has no rows of split {LEARNED_FROM!r}; record some")
    missing = [variant.name for variant in variants if variant.name not in recorded.members]
    if missing:
        raise ConfigError(
            f"{where}: {path} has no votes of {', '.join(missing)}; record them, or name the endpoint's variants"
        )
    outdated = [variant.name for variant in variants if variant.name in catalogue.outdated.get(path, ())]
    if outdated:
        raise ConfigError(
            f"{where}: {path} has votes that another model gave, or other options, labels or outputs, under the name "
            f"of {', '.join(outdated)}; record them again with `accord evaluate` for all variants of the task, or name "
            "the endpoint's variants"
        )
    if recorded.classes > classes:
        raise ConfigError(f"{where}: {path} names class {recorded.classes - 1}; the task has {classes} classes")
    own = recorded.of([variant.name for variant in variants])
    return RecordedVotes(own.members, own.labels, own.predictions, classes)


def _member(variant: Variant, candidates: Mapping[str, tuple[Candidate, ...]]) -> Member:
    """Its latency is that of one row on the slowest device, its cost what a row takes of a worker's time there."""
    own = [each for offered in candidates.values() for each in offered if each.variant == variant.name]
    latency_s = max(candidate.latency_s[1] for candidate in own)
    run_s = float(np.mean([candidate.runs_s[1] for candidate in own]))
    return Member(variant.name, latency_s, variant.accuracy, packing_factor=1.0 / max(run_s, 1e-6))

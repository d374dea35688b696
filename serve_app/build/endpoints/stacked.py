"""From the config of stacked ensembles to variants of their own."""

from collections.abc import Sequence
from dataclasses import replace

from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.variant import STACKED, Artifact, Variant
from catalog.votes import RecordedVotes
from deployments.runtimes.stacked_runtime import stacked_options
from dispatch.ensemble.estimate import JointVotes
from dispatch.ensemble.weights import ClassWeights
from serve_app.build.candidates import variants_of
from serve_app.build.endpoints.ensembles import ballots_of, no_ballots, recorded_votes
from serve_app.config.endpoints.endpoint import EndpointConfig
from serve_app.config.schema import AppConfig


def with_stacked(config: AppConfig, catalogue: Catalogue) -> Catalogue:
    """The catalogue with the stacked ensembles of all endpoints; raises `ConfigError`.

    Their accuracy is that of the vote on the recorded rows, with weights that the row did not teach.
    """
    made: dict[str, Variant] = {}
    for name, endpoint in config.endpoints.items():
        if endpoint.stacked is None:
            continue
        known = {variant.name: variant for variant in variants_of(name, endpoint, catalogue)}
        for members in endpoint.stacked.sets:
            missing = [member for member in members if member not in known]
            if missing:
                raise ConfigError(
                    f"endpoints.{name}.stacked.sets: {missing[0]!r} is none of its variants, which are "
                    f"{', '.join(known)}"
                )
            stacked = _stacked(name, endpoint, catalogue, [known[member] for member in members])
            made[stacked.name] = stacked
    return replace(catalogue, variants=(*catalogue.variants, *made.values())) if made else catalogue


def stacked_name(members: Sequence[str]) -> str:
    """What the ensemble of these members is called."""
    return "+".join(members)


def _stacked(name: str, endpoint: EndpointConfig, catalogue: Catalogue, members: Sequence[Variant]) -> Variant:
    assert endpoint.stacked is not None
    where = f"endpoints.{name}.stacked"
    ballots = ballots_of(members[0])
    path = endpoint.stacked.votes or catalogue.votes.get(endpoint.task)
    if ballots is None:
        raise ConfigError(f"{where}: members vote on classes, and {no_ballots(members[0])}, or remove stacked")
    others = [spec.name for spec in members[0].outputs if spec.name not in (ballots.label, ballots.scores)]
    if others:
        raise ConfigError(
            f"{where}: task {endpoint.task!r} has output {others[0]!r} besides class and scores, and a vote gives no "
            "such tensor; remove stacked, or have a task whose outputs are a label, scores, or both"
        )
    if path is None:
        raise ConfigError(
            f"{where}.votes is missing, and the catalogue has none for task {endpoint.task!r}; record some with "
            "`accord evaluate`: the accuracy of an ensemble is counted on them"
        )
    votes = recorded_votes(f"{where}.votes", path, members, ballots.classes, catalogue)
    weights = ClassWeights.learned(votes)
    return Variant(
        name=stacked_name([member.name for member in members]),
        task=endpoint.task,
        runtime=STACKED,
        artifact=Artifact(""),
        accuracy=_accuracy(votes),
        inputs=members[0].inputs,
        outputs=members[0].outputs,
        lengths=next((member.lengths for member in members if member.lengths is not None), None),
        labels=members[0].labels,
        max_batch=min(member.max_batch for member in members),
        row_bytes=max((member.row_bytes or 0 for member in members), default=0) or None,
        options=stacked_options(members, ballots, weights.rows, weights.against_rows),
    )


def _accuracy(votes: RecordedVotes) -> float:
    return JointVotes(votes).accuracy(votes.members)

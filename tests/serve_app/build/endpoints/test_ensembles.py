"""From the config of an ensemble to its stages, its weights and what is refused."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catalog.catalogue import Catalogue, load_catalogue
from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.tensor import TensorSpec
from catalog.votes import RecordedVotes, write_votes
from dispatch.balancing.shortest_queue import ShortestQueue
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.chooser import EveryoneChooser, IntervalChooser, WavesChooser
from dispatch.ensemble.member import Constraint
from dispatch.ensemble.weights import ClassWeights
from dispatch.flow.ensemble import EnsembleFlow
from serve_app.build.assemble import Assembly, assemble, resolve_paths
from serve_app.build.candidates import Profiles
from serve_app.build.control import control_settings
from serve_app.build.endpoints.stacked import with_stacked
from serve_app.build.router_settings import router_settings
from serve_app.build.tables import problems_for
from serve_app.config.schema import AppConfig
from toy_models import write_toy_catalogue
from vote_scene import confusion, drawn_votes

DIGITS = load_catalogue("builtin")
MEMBERS = tuple(variant.name for variant in DIGITS.of_task("digits"))
THREE = MEMBERS[:3]
CLASSES = 10
DEFAULTS: Mapping[str, Any] = {}


def profile(row_ms: float) -> LatencyProfile:
    return LatencyProfile("cpu", {n: BatchLatency(10, row_ms * n, 0, *4 * (row_ms * n,)) for n in (1, 64)})


ROW_MS = {name: 1.0 + number for number, name in enumerate(MEMBERS)}
PROFILES: Profiles = {
    "cpu": {name: profile(ms) for name, ms in ROW_MS.items()},
    "cuda": {name: profile(0.5 * ms) for name, ms in ROW_MS.items()},
}


def config(ensemble: Mapping[str, Any] | None = DEFAULTS, **endpoint: Any) -> AppConfig:
    given = {"task": "digits", "slo_ms": 100, "ensemble": ensemble, "variants": list(THREE)} | endpoint
    return AppConfig.model_validate({"endpoints": {"digits": given}, "pools": {"cpu": {}}})


def without_votes(catalogue: Catalogue = DIGITS) -> Catalogue:
    return replace(catalogue, votes={})


def assembled(given: AppConfig, catalogue: Catalogue = DIGITS) -> Assembly:
    return assemble(given, catalogue, PROFILES)


def flow_of(given: AppConfig, catalogue: Catalogue = DIGITS) -> EnsembleFlow:
    flow = assembled(given, catalogue).plan.endpoints["digits"].flow
    assert isinstance(flow, EnsembleFlow)
    return flow


def votes_file(folder: Path, members: Sequence[str], classes: int = CLASSES, split: str = "dev") -> str:
    drawn = drawn_votes({name: confusion([0.7 + 0.02 * n] * classes) for n, name in enumerate(members)}, 400)
    whole = RecordedVotes(drawn.members, drawn.labels, drawn.predictions, classes)
    write_votes(folder / "votes.csv", {split: whole})
    return str(folder / "votes.csv")


# -- what is built ----------------------------------------------------------------------------------------------


def test_each_member_has_a_stage_of_its_own() -> None:
    built = assembled(config(pools=["cpu"]))
    endpoint = built.plan.endpoints["digits"]
    assert tuple(endpoint.stages) == THREE
    balancers = [stage.balancer for stage in endpoint.stages.values()]
    assert all(isinstance(balancer, ShortestQueue) for balancer in balancers)
    assert len({id(balancer) for balancer in balancers}) == 3
    for name, stage in endpoint.stages.items():
        assert {device: [c.variant for c in own] for device, own in stage.candidates.items()} == {"cpu": [name]}
        assert stage.pools == {"cpu"}
    assert (endpoint.selection, endpoint.flow.name) == ("ensemble", "ensemble")
    assert [variant.name for variant in built.workers["cpu"].variants] == list(THREE)
    info = built.endpoints["digits"]
    assert (info.ensemble, info.ballots) == (True, Ballots(CLASSES, "label", "probabilities"))


@pytest.mark.parametrize(
    ("choose", "kind"), [("waves", WavesChooser), ("intervals", IntervalChooser), ("everyone", EveryoneChooser)]
)
def test_members_are_chosen_as_the_config_says(choose: str, kind: type) -> None:
    flow = flow_of(config({"choose": choose}))
    assert isinstance(flow.chooser, kind)
    assert set(flow.chooser.choose(Constraint(1.0), THREE, 0.0).members) <= set(THREE)


def test_a_member_takes_what_one_row_takes_on_the_slowest_device() -> None:
    given = AppConfig.model_validate(
        {
            "endpoints": {
                "digits": {
                    "task": "digits",
                    "slo_ms": 100,
                    "ensemble": {"choose": "everyone"},
                    "variants": list(THREE),
                }
            },
            "pools": {"cpu": {}, "gpu": {"device": "cuda", "num_gpus": 1}},
            "transport_ms": 4,
        }
    )
    chooser = flow_of(given).chooser
    for name in THREE:
        alone = chooser.choose(Constraint(1.0), [name], 0.0)
        assert alone.latency_s == pytest.approx((ROW_MS[name] + 4) / 1e3)


def test_weights_are_learned_from_the_catalogues_votes_of_the_split_for_that(tmp_path: Path) -> None:
    path = votes_file(tmp_path, [*THREE, "a stranger"])
    flow = flow_of(config(), replace(DIGITS, votes={"digits": path}))
    drawn = drawn_votes({name: confusion([0.7 + 0.02 * n] * CLASSES) for n, name in enumerate([*THREE, "z"])}, 400)
    expected = ClassWeights.learned(RecordedVotes(THREE, drawn.labels, drawn.predictions[:, :3], CLASSES))
    assert np.array_equal(flow.weights.matrix, expected.matrix)
    assert np.array_equal(flow.weights.against, expected.against)
    assert flow.weights.members == THREE


def test_the_configs_own_votes_come_before_the_catalogues(tmp_path: Path) -> None:
    own = flow_of(config({"votes": votes_file(tmp_path, THREE)}))
    assert own.weights.counts.seen.sum() == 400 * 3
    assert flow_of(config()).weights.counts.seen.sum() != 400 * 3, "the digits have votes of their own"


def test_without_votes_weights_come_from_accuracies_alone() -> None:
    flow = flow_of(config(), without_votes())
    expected = ClassWeights({v.name: v.accuracy for v in DIGITS.of_task("digits") if v.name in THREE}, CLASSES)
    assert np.array_equal(flow.weights.matrix, expected.matrix)
    assert flow.weights.counts.seen.sum() == 0


def test_a_class_that_no_recorded_row_has_is_a_class_all_the_same(tmp_path: Path) -> None:
    weights = flow_of(config({"votes": votes_file(tmp_path, THREE, classes=7)})).weights
    assert weights.matrix.shape == (CLASSES, 3)


# -- what is refused --------------------------------------------------------------------------------------------


def test_votes_that_lack_a_member_are_refused(tmp_path: Path) -> None:
    path = votes_file(tmp_path, THREE[:2])
    with pytest.raises(ConfigError, match=rf"endpoints.digits.ensemble.votes: .*votes.csv has no votes of {THREE[2]};"):
        assembled(config({"votes": path}))
    with pytest.raises(ConfigError, match="record them, or name the endpoint's variants"):
        assembled(config(variants=None), replace(DIGITS, votes={"digits": path}))


def test_votes_of_another_model_than_a_member_is_by_now_are_refused() -> None:
    retrained = replace(DIGITS, outdated={DIGITS.votes["digits"]: frozenset({THREE[1]})})
    message = rf"endpoints.digits.ensemble.votes: .* under the name of {THREE[1]}; record them again with `accord eval"
    with pytest.raises(ConfigError, match=message):
        assembled(config(), retrained)
    others = flow_of(config(variants=[THREE[0], THREE[2]]), retrained)
    assert others.weights.members == (THREE[0], THREE[2])


def test_a_stacked_set_has_no_accuracy_by_votes_of_another_model_than_a_member_is_by_now() -> None:
    retrained = replace(DIGITS, outdated={DIGITS.votes["digits"]: frozenset({THREE[1]})})

    def stacked(*members: str) -> AppConfig:
        endpoint = {"task": "digits", "slo_ms": 100, "stacked": {"sets": [list(members)]}}
        return AppConfig.model_validate({"endpoints": {"e": endpoint}, "pools": {"cpu": {}}})

    with pytest.raises(ConfigError, match=rf"endpoints.e.stacked.votes: .* under the name of {THREE[1]}; record them"):
        with_stacked(stacked(*THREE[:2]), retrained)
    assert with_stacked(stacked(THREE[0], THREE[2]), retrained).variants[-1].name == f"{THREE[0]}+{THREE[2]}"


def test_votes_for_classes_that_the_task_does_not_have_are_refused(tmp_path: Path) -> None:
    path = votes_file(tmp_path, THREE, classes=12)
    with pytest.raises(ConfigError, match=r"ensemble.votes: .* names class 11; the task has 10 classes"):
        assembled(config({"votes": path}))


def test_votes_without_rows_to_learn_from_and_no_votes_at_all_are_refused(tmp_path: Path) -> None:
    path = votes_file(tmp_path, THREE, split="test")
    with pytest.raises(ConfigError, match=r"ensemble.votes: .* has no rows of split 'dev'; record some"):
        assembled(config({"votes": path}))
    with pytest.raises(ConfigError, match=r"endpoints.digits.ensemble.votes: cannot read votes .*nowhere.csv"):
        assembled(config({"votes": str(tmp_path / "nowhere.csv")}))


def test_a_default_that_no_query_could_meet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"endpoints.digits: queries that ask for nothing .* all be refused: no member answers within 10.0 ms; "
        r"the fastest, .* raise slo_ms, lower ensemble.accuracy, or set ensemble.best_effort: true",
    ):
        assembled(config(slo_ms=20))
    flow_of(config({"best_effort": True}, slo_ms=20))
    for choose in ("waves", "intervals"):
        with pytest.raises(ConfigError, match=r"accuracy of 0.9999 within .* at most 0\.\d+ is possible"):
            assembled(config({"accuracy": 0.9999, "choose": choose}))


def test_more_members_than_sets_can_name_are_refused(tmp_path: Path) -> None:
    many = [replace(DIGITS.of_task("digits")[0], name=f"m{n}") for n in range(63)]
    names = [variant.name for variant in many]
    catalogue = replace(DIGITS, variants=tuple(many))
    given = config({"votes": votes_file(tmp_path, names)}, variants=names)
    with pytest.raises(ConfigError, match="63 variants; recorded votes say of 62 at most who should vote"):
        assemble(given, catalogue, {"cpu": dict.fromkeys(names, profile(1.0))})


def test_a_task_whose_outputs_name_no_class_is_refused(tmp_path: Path) -> None:
    toy = load_catalogue(write_toy_catalogue(tmp_path))
    given = config(task="toy", variants=["good", "brittle"])
    message = (
        r"endpoints.digits.ensemble: members vote on classes, and the outputs of task 'toy' are y FP32 \[-1\]: none of "
        r"them says a class; give an integer label of shape \[-1\] and the labels, or floating-point scores of shape "
        r"\[-1, classes\], or remove ensemble"
    )
    with pytest.raises(ConfigError, match=message):
        assemble(given, toy, {"cpu": dict.fromkeys(("good", "brittle"), profile(1.0))})


# -- what is answered -------------------------------------------------------------------------------------------


def test_answers_have_what_a_vote_gives_and_nothing_else(tmp_path: Path) -> None:
    embedding = TensorSpec("embedding", "FP32", (-1, 8, 8))
    more = replace(DIGITS, variants=tuple(replace(v, outputs=(embedding, *v.outputs)) for v in DIGITS.variants))
    plain = config(ensemble=None, selection={"policy": "greedy"})
    infos = {voting: assembled(given, more).endpoints["digits"] for voting, given in ((True, config()), (False, plain))}
    voted = [spec.name for spec in DIGITS.of_task("digits")[0].outputs]
    assert [spec.name for spec in infos[True].outputs] == voted
    assert [spec.name for spec in infos[False].outputs] == ["embedding", *voted]
    stacked = config(ensemble=None, selection={"policy": "greedy"}, stacked={"sets": [list(THREE)]})
    with pytest.raises(ConfigError, match=r"endpoints.digits.stacked: task 'digits' has output 'embedding' besides"):
        with_stacked(stacked, more)


def test_members_have_names_that_other_models_do_not_share() -> None:
    before = assembled(config()).endpoints["digits"].models
    assert list(before) == list(THREE)
    options = replace(DIGITS, variants=tuple(replace(v, options={"k": 1}) for v in DIGITS.variants))
    labels = replace(DIGITS, variants=tuple(replace(v, labels=v.labels[::-1]) for v in DIGITS.variants))
    for changed in (options, labels):
        assert set(assembled(config(), without_votes(changed)).endpoints["digits"].models.values()).isdisjoint(
            before.values()
        )


# -- what goes with it ------------------------------------------------------------------------------------------


def test_votes_are_found_from_the_folder_that_the_service_is_started_in() -> None:
    resolved = resolve_paths(config({"votes": "recorded/votes.csv"}), Path("/srv"))
    ensemble = resolved.endpoints["digits"].ensemble
    assert ensemble is not None
    assert ensemble.votes == "/srv/recorded/votes.csv"
    absolute = resolve_paths(config({"votes": "/data/votes.csv"}), Path("/srv")).endpoints["digits"].ensemble
    assert absolute is not None
    assert absolute.votes == "/data/votes.csv"
    assert resolve_paths(config(), Path("/srv")).endpoints["digits"] == config().endpoints["digits"]


def test_ensembles_have_no_tables_and_nobody_is_warned_of_them(caplog: pytest.LogCaptureFixture) -> None:
    endpoint = {"task": "digits", "slo_ms": 100, "ensemble": {}, "variants": list(THREE)}
    for balancing in ("shortest_queue", "central"):
        both = dict.fromkeys(("one", "two"), endpoint | {"balancing": balancing})
        given = AppConfig.model_validate({"endpoints": both, "pools": {"cpu": {}}})
        assert problems_for(given, DIGITS, PROFILES) == {}
        assert router_settings(given).balancing == {}
        known = control_settings(given, DIGITS, PROFILES)
        assert not any(each.by_tables for each in known.endpoints.values())
        with caplog.at_level(logging.WARNING):
            assembled(given)
    assert caplog.text == ""

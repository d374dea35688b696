"""From the config of ``shadow`` to what the dispatcher compares."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.evaluation.measured import Measured
from serve_app.build.candidates import variants_of
from serve_app.build.endpoints.shadow import shadow_rules
from serve_app.config.endpoints.endpoint import EndpointConfig
from toy_models import write_toy_catalogue

CATALOGUE = load_catalogue("builtin")


def endpoint(**changes: Any) -> EndpointConfig:
    return EndpointConfig.model_validate({"task": "digits", "slo_ms": 100, "shadow": {}} | changes)


def test_what_was_recorded_of_pairs_is_what_agreement_is_held_to() -> None:
    config = endpoint(shadow={"share": 0.05, "seed": 3})
    rules = shadow_rules("digits", config, CATALOGUE, variants_of("digits", config, CATALOGUE))
    assert rules is not None
    assert (rules.share, rules.seed, rules.ballots.classes) == (0.05, 3, 10)
    names = {variant.name for variant in CATALOGUE.of_task("digits")}
    assert {one for one, _ in rules.together} == names
    pair = rules.together["digits-mlp", "digits-ensemble"]
    assert pair.right / pair.examples == pytest.approx(0.7546, abs=2e-3)
    assert pair.right - pair.agreed <= 0.03 * pair.examples
    share, least = rules.right["digits-mlp"]
    assert share == pair.right / pair.examples
    assert share - 0.03 < least < share


def test_without_votes_what_was_measured_as_accuracy_is_what_is_known_of_right_classes() -> None:
    config, variants = endpoint(), CATALOGUE.of_task("digits")
    other = replace(variants[0], measured=Measured("top5", 0.97, 0.99, 100), accuracy=0.98)
    rules = shadow_rules("digits", config, replace(CATALOGUE, votes={}), (other, *variants[1:]))
    assert rules is not None
    assert rules.together == {}
    assert {name: right.share for name, right in rules.right.items()} == {
        each.name: each.accuracy for each in variants[1:]
    }


def test_votes_of_another_model_say_nothing_of_the_one_of_today() -> None:
    config = endpoint()
    retrained = replace(CATALOGUE, outdated={CATALOGUE.votes["digits"]: frozenset({"digits-mlp"})})
    rules = shadow_rules("digits", config, retrained, variants_of("digits", config, retrained))
    assert rules is not None
    assert rules.together
    assert not any("digits-mlp" in pair for pair in rules.together)
    variant = CATALOGUE.variant("digits-mlp")
    assert variant.measured is not None
    assert rules.right["digits-mlp"] == (variant.accuracy, variant.measured.low), "what was measured of it holds"


def test_an_endpoint_without_it_compares_nothing() -> None:
    config = EndpointConfig(task="digits", slo_ms=100)
    assert shadow_rules("digits", config, CATALOGUE, CATALOGUE.of_task("digits")) is None


def test_answers_that_name_no_class_cannot_be_compared(tmp_path) -> None:
    toy = load_catalogue(write_toy_catalogue(tmp_path))
    config = endpoint(task="toy")
    with pytest.raises(ConfigError, match=r"endpoints.toy.shadow: answers are compared by class, .* are y FP32 \[-1\]"):
        shadow_rules("toy", config, toy, toy.of_task("toy"))


def test_where_several_answer_nothing_is_compared() -> None:
    with pytest.raises(ValidationError, match="shadow and ensemble are both given"):
        endpoint(ensemble={})


@pytest.mark.parametrize("share", [0, 0.6, -1])
def test_a_share_that_cannot_be_is_refused(share: float) -> None:
    with pytest.raises(ValidationError):
        endpoint(shadow={"share": share})

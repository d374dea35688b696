"""``ensemble`` of an endpoint, as configs may give it."""

from typing import Any

import pytest

from catalog.errors import ConfigError
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig


def config(ensemble: Any, **changes: Any) -> AppConfig:
    endpoint = {"task": "digits", "slo_ms": 100, "ensemble": ensemble} | changes
    return app_config({"endpoints": {"digits": endpoint}, "pools": {"cpu": {"workers": 2}}})


def test_nothing_need_be_said_of_an_ensemble() -> None:
    made = config({}).endpoints["digits"]
    assert made.ensemble is not None
    assert made.ensemble.model_dump() == {"choose": "waves", "votes": None, "accuracy": None, "best_effort": False}
    assert (made.balancing, made.policy) == ("shortest_queue", None)
    assert config({}, balancing="central").endpoints["digits"].balancing == "central"
    assert AppConfig.model_validate(config({}).model_dump(exclude_unset=True)) == config({})


def test_without_an_ensemble_a_policy_chooses() -> None:
    made = config(None).endpoints["digits"]
    assert (made.ensemble, made.policy, made.balancing) == (None, "ramsis", "round_robin")


@pytest.mark.parametrize(
    ("ensemble", "changes", "message"),
    [
        ({"choose": "some"}, {}, "endpoints.digits.ensemble.choose: 'some' is unknown; use one of waves, intervals, e"),
        ({"choose": "wavs"}, {}, r"choose: 'wavs' is unknown \(did you mean 'waves'\?\)"),
        ({"accuracy": 0}, {}, "endpoints.digits.ensemble.accuracy is 0; give a number above 0"),
        ({"accuracy": 1.2}, {}, "endpoints.digits.ensemble.accuracy is 1.2; give a number of at most 1"),
        ({"accuracy": float("nan")}, {}, "endpoints.digits.ensemble.accuracy is nan"),
        ({"accurracy": 0.9}, {}, r"ensemble.accurracy is unknown \(did you mean 'accuracy'\?\)"),
        (
            {},
            {"selection": {"policy": "greedy"}},
            "endpoints.digits: selection.policy is 'greedy', and the members of an ensemble are chosen by `ensemble`; "
            "remove selection, or ensemble",
        ),
        ({}, {"selection": {}}, "selection.policy is 'ramsis', and the members of an ensemble are chosen by"),
        (
            {},
            {"stacked": {"sets": [["a", "b"]]}},
            "endpoints.digits: stacked and ensemble are both given, and the members of an ensemble run on workers of",
        ),
        ({}, {"slo_ms": 5}, r"endpoints.digits.slo_ms is 5, no more than transport_ms \(10\)"),
        ({}, {"pools": ["gpu"]}, "endpoints.digits.pools: 'gpu' is no pool here"),
    ],
)
def test_a_wrong_ensemble_is_refused_naming_the_field_the_value_and_the_remedy(
    ensemble: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        config(ensemble, **changes)


def test_a_planner_that_assigns_variants_may_serve_an_ensemble() -> None:
    endpoint = {"task": "digits", "slo_ms": 100, "ensemble": {}}
    made = app_config({"endpoints": {"digits": endpoint}, "pools": {"cpu": {}}, "controller": {"planner": "proteus"}})
    assert made.endpoints["digits"].ensemble is not None

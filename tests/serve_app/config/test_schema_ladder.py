"""Ladders in a config, and how a wrong one is refused."""

from typing import Any

import pytest
from schema_scene import config

from catalog.errors import ConfigError
from serve_app.config.read import app_config


def by_ladder(*rungs: dict[str, Any], **endpoint: Any) -> dict[str, Any]:
    selection = {"policy": "load_ladder", "ladder": list(rungs)}
    return {"d": {"task": "t", "slo_ms": 99, "selection": selection} | endpoint}


@pytest.mark.parametrize("policy", ["jellyfish_plus", "model_switching", "load_ladder"])
def test_policies_by_load_take_batches_from_one_queue(policy: str) -> None:
    selection: dict[str, Any] = {"policy": policy}
    if policy == "load_ladder":
        selection["ladder"] = [{"below_qps": 500, "variant": "best", "max_rows": 16}, {"variant": "fast"}]
    endpoint = {"task": "t", "slo_ms": 99, "selection": selection}
    for given in (endpoint, endpoint | {"balancing": "central"}):
        assert app_config(config(endpoints={"d": given})).endpoints["d"].balancing == "central"
    with pytest.raises(ConfigError, match=f"balancing is 'round_robin', and policy '{policy}' takes batches from"):
        app_config(config(endpoints={"d": endpoint | {"balancing": "round_robin"}}))
    with pytest.raises(ConfigError, match=f"policy is '{policy}', and the planner 'proteus' decides which variant"):
        app_config(config(endpoints={"d": endpoint}, controller={"planner": "proteus"}))


@pytest.mark.parametrize(
    ("endpoints", "message"),
    [
        (by_ladder(), "endpoints.d.selection.ladder has 0 entries; give at least 1"),
        (
            by_ladder({"variant": "best"}, {"variant": "fast"}),
            "endpoints.d.selection.ladder: below_qps of rung 0 is missing; only the last may do without it",
        ),
        (
            by_ladder({"below_qps": 9, "variant": "best"}),
            "endpoints.d.selection.ladder: below_qps of rung 0 is 9, and nothing serves higher loads; add a last one",
        ),
        (
            by_ladder({"below_qps": 9, "variant": "a"}, {"below_qps": 9, "variant": "b"}, {"variant": "c"}),
            "endpoints.d.selection.ladder: below_qps of rung 1 is 9, no more than 9 before it; let them ascend",
        ),
        (
            by_ladder({"below_qps": 0, "variant": "a"}, {"variant": "b"}),
            r"selection.ladder\[0\].below_qps is 0; give a number above 0",
        ),
        (
            by_ladder({"variant": "a", "max_rows": 0}),
            r"selection.ladder\[0\].max_rows is 0; give a number of at least 1",
        ),
        (
            by_ladder({"variant": "a", "above_qps": 1}),
            r"selection.ladder\[0\].above_qps is unknown \(did you mean 'below_qps'\?\)",
        ),
        (
            {"d": {"task": "t", "slo_ms": 99, "selection": {"policy": "load_ladder"}}},
            "endpoints.d.selection: ladder is missing; policy 'load_ladder' serves by it",
        ),
        (
            by_ladder({"variant": "a"}, selection={"policy": "greedy", "ladder": [{"variant": "a"}]}),
            "endpoints.d.selection: ladder is given, but policy 'greedy' does without; remove it or use",
        ),
    ],
)
def test_a_wrong_ladder_is_refused_naming_the_rung_the_value_and_the_remedy(
    endpoints: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        app_config(config(endpoints=endpoints))

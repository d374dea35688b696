"""What the config of a pipeline may say, and how a wrong one is refused."""

from typing import Any

import pytest

from catalog.errors import ConfigError
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig

CUT = {"task": "cut", "inputs": {"image": "query.image"}}
READ = {"task": "read", "inputs": {"x": "cut.crops"}}


def app(pipeline: Any = None, controller: dict[str, Any] | None = None, **endpoint: Any) -> AppConfig:
    stages = {"stages": {"cut": CUT, "read": READ}} if pipeline is None else pipeline
    return app_config(
        {
            "endpoints": {"page": {"slo_ms": 100, "pipeline": stages} | endpoint},
            "pools": {"cpu": {"workers": 2}},
            "controller": controller or {},
        }
    )


def with_stage(**changes: Any) -> dict[str, Any]:
    return {"stages": {"cut": CUT, "read": READ | changes}}


def test_a_pipeline_has_one_queue_for_each_stage_and_no_policy_of_its_own() -> None:
    endpoint = app().endpoints["page"]
    assert endpoint.tasks == ("cut", "read")
    assert endpoint.balancing == "central"
    assert endpoint.policy is None
    assert endpoint.pipeline is not None
    assert endpoint.pipeline.stages["read"].rows_per_job == 1


def test_a_queue_for_each_worker_is_an_option() -> None:
    assert app(balancing="shortest_queue").endpoints["page"].balancing == "shortest_queue"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "cut"}, "task and pipeline are both given; give task of each of pipeline.stages, and remove task"),
        ({"variants": ["a"]}, "variants and pipeline are both given; give variants of each of pipeline.stages"),
        ({"ensemble": {}}, "ensemble and pipeline are both given; the stages of a pipeline have none"),
        ({"selection": {"policy": "greedy"}}, "selection.policy is 'greedy', and each stage of a pipeline runs"),
        ({"pipeline": {"stages": {}}}, "pipeline.stages has 0 entries; give at least 1"),
        ({"pipeline": with_stage(adapter="no-function")}, "'no-function' names no function; write module:function"),
        ({"pipeline": with_stage(inputs={"x": "cut"})}, "x takes 'cut'; write STAGE.TENSOR, such as find.boxes"),
        ({"pipeline": with_stage(rows_per_job=0)}, "rows_per_job is 0; give a number of at least 1"),
        (
            {
                "pipeline": with_stage(
                    when={"call": "m:f", "inputs": {"a": "cut.a"}}, unless={"call": "m:f", "inputs": {"a": "cut.a"}}
                )
            },
            "when and unless are both given; give one of them",
        ),
        ({"pipeline": with_stage(when={"call": "m:f", "inputs": {}})}, "when.inputs has 0 entries; give at least 1"),
        ({"pipeline": with_stage(adaptor="m:f")}, r"adaptor is unknown \(did you mean 'adapter'\?\)"),
        ({"controller": {"planner": "proteus"}}, "endpoints.page is a pipeline, and planner 'proteus' plans for none"),
        ({"controller": {"ipa": {}}}, "ipa is given, and the planner is 'everywhere'; remove it, or use planner ipa"),
        (
            {"controller": {"planner": "ipa", "ipa": {"accuracy": "ranks"}}},
            r"'ranks' is unknown \(did you mean 'rank'\?\); use one of rank, product, measured",
        ),
        ({"controller": {"planner": "ipa", "ipa": {"headroom": 0.9}}}, "headroom is 0.9; give a number of at least 1"),
        ({"controller": {"planner": "ipa", "ipa": {"alpha": -1}}}, "controller.ipa.alpha is -1; give a number of at"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        app(**changes)


def test_an_endpoint_without_task_or_pipeline_is_refused() -> None:
    with pytest.raises(ConfigError, match="task is missing; name the task whose variants answer, or give a pipeline"):
        app_config({"endpoints": {"page": {"slo_ms": 100}}, "pools": {"cpu": {}}})


def test_planner_ipa_refuses_ensembles_and_policies_that_choose_among_all_variants() -> None:
    for endpoint, message in (
        ({"task": "digits", "slo_ms": 100, "ensemble": {}}, "is an ensemble, and planner 'ipa' chooses one variant"),
        ({"task": "digits", "slo_ms": 100}, "selection.policy is 'ramsis', and the planner 'ipa' decides"),
    ):
        with pytest.raises(ConfigError, match=message):
            app_config({"endpoints": {"e": endpoint}, "pools": {"cpu": {}}, "controller": {"planner": "ipa"}})

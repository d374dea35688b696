"""From the config of a pipeline to its stages, its functions and what is refused."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from autoscaler.planners.ipa.problem import IpaOptions
from catalog.catalogue import Catalogue
from catalog.errors import BadRequest, ConfigError
from catalog.lengths import Lengths
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from dispatch.balancing.registry import create_balancer
from dispatch.flow.pipeline import PipelineFlow
from serve_app.build.assemble import Assembly, assemble, resolve_paths
from serve_app.build.candidates import Profiles
from serve_app.build.control import control_settings
from serve_app.config.read import app_config
from serve_app.config.schema import AppConfig
from serve_app.oip.request import InferRequest, decode

IMAGE, STARTS = TensorSpec("image", "UINT8", (-1, 12, 128)), TensorSpec("starts", "FP32", (-1, 128))
CUT, LABEL = TensorSpec("image", "FP32", (-1, 12, 12)), TensorSpec("label", "INT64", (-1,))
PROBABILITIES = TensorSpec("probabilities", "FP32", (-1, 10))


def variant(name: str, task: str, gives: tuple[TensorSpec, ...], takes: TensorSpec, max_batch: int = 8) -> Variant:
    return Variant(name, task, "onnx", Artifact(f"{name}.onnx"), 0.9, (takes,), gives, max_batch=max_batch)


CATALOGUE = Catalogue(
    (
        variant("f1", "find", (STARTS,), IMAGE),
        variant("f2", "find", (STARTS,), IMAGE),
        variant("r1", "read", (LABEL, PROBABILITIES), CUT),
        variant("r2", "read", (LABEL, PROBABILITIES), CUT, max_batch=4),
    ),
    ".",
    pipelines={"page": "none.csv"},
)
ROW_MS = {"f1": 1.0, "f2": 3.0, "r1": 2.0, "r2": 10.0}
PROFILES: Profiles = {
    "cpu": {
        name: LatencyProfile("cpu", {n: BatchLatency(10, ms * n, 0, *4 * (ms * n,)) for n in (1, 8)})
        for name, ms in ROW_MS.items()
    }
}
FIND = {"task": "find", "inputs": {"image": "query.image"}}
READ = {
    "task": "read",
    "adapter": "pipeline_functions:crop",
    "inputs": {"image": "query.image", "starts": "find.starts"},
}


def app(find: dict[str, Any] = FIND, read: dict[str, Any] = READ, **changes: Any) -> AppConfig:
    endpoint = {"slo_ms": 120, "pipeline": {"stages": {"find": find, "read": read}} | changes.pop("pipeline", {})}
    given = {"endpoints": {"page": endpoint | changes.pop("endpoint", {})}, "pools": {"cpu": {"workers": 2}}}
    return app_config(given | changes)


def assembled(config: AppConfig) -> Assembly:
    return assemble(config, CATALOGUE, PROFILES)


def test_each_stage_has_its_own_variants_one_queue_and_its_part_of_the_objective() -> None:
    made = assembled(app())
    plan = made.plan.endpoints["page"]
    assert isinstance(plan.flow, PipelineFlow)
    assert [[c.variant for c in stage.candidates["cpu"]] for stage in plan.stages.values()] == [
        ["f1", "f2"],
        ["r1", "r2"],
    ]
    assert all(stage.central for stage in plan.stages.values())
    # 10 ms of transport each: find counts for 12 ms, read for 16 ms of 120 ms
    assert plan.stages["find"].after_s == pytest.approx(0.120 * 16 / 28)
    assert plan.stages["read"].after_s == 0.0
    assert {v.name for v in made.workers["cpu"].variants} == {"f1", "f2", "r1", "r2"}


def test_clients_send_what_stages_take_of_the_query_and_get_what_the_last_stage_gives() -> None:
    info = assembled(app()).endpoints["page"]
    assert info.inputs == (IMAGE,)
    assert info.outputs == (LABEL, PROBABILITIES)
    assert info.stage_inputs == {"find": (IMAGE,), "read": (CUT,)}
    assert info.task == "find > read"
    parameters = info.metadata(0.12, (), ())["parameters"]
    assert parameters["stages"] == {"find": "find", "read": "read"}


def test_a_queue_for_each_worker_is_built_where_the_config_says_so() -> None:
    plan = assembled(app(endpoint={"balancing": "shortest_queue"})).plan.endpoints["page"]
    assert type(plan.stages["read"].balancer) is type(create_balancer("shortest_queue"))


def test_stages_narrow_their_tasks_down() -> None:
    plan = assembled(app(read=READ | {"variants": ["r2"]})).plan.endpoints["page"]
    assert [c.variant for c in plan.stages["read"].candidates["cpu"]] == ["r2"]


def test_the_controller_learns_of_stages_their_order_and_weights() -> None:
    config = app(controller={"planner": "ipa", "ipa": {"beta": 0.5}}, find=FIND, read=READ | {"variants": ["r1"]})
    config = config.model_copy(update={"endpoints": dict(reversed(config.endpoints.items()))})
    settings = control_settings(config, CATALOGUE_WITHOUT_FILES, PROFILES)
    stages = settings.endpoints["page"].stages
    assert {name: (stage.task, stage.variants, stage.after) for name, stage in stages.items()} == {
        "find": ("find", None, ()),
        "read": ("read", ("r1",), ("find",)),
    }
    assert settings.ipa == IpaOptions(beta=0.5, accuracy="product", headroom=1.3)


CATALOGUE_WITHOUT_FILES = Catalogue(
    tuple(
        Variant(
            v.name,
            v.task,
            "emulated",
            v.artifact,
            v.accuracy,
            v.inputs,
            v.outputs,
            max_batch=v.max_batch,
            options={"memory_bytes": 1},
        )
        for v in CATALOGUE.variants
    ),
    ".",
)


def test_measured_accuracies_are_read_for_the_flow_and_for_the_planner(tmp_path: Path) -> None:
    (tmp_path / "accuracies.csv").write_text("read,find,accuracy\nr1,f1,0.7\nr2,f2,0.8\n")
    config = resolve_paths(app(pipeline={"accuracy": "accuracies.csv"}, controller={"planner": "ipa"}), tmp_path)
    settings = control_settings(config, CATALOGUE_WITHOUT_FILES, PROFILES)
    assert settings.endpoints["page"].measured_accuracy == {("f1", "r1"): 0.7, ("f2", "r2"): 0.8}
    assert settings.ipa.accuracy == "measured"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"find": FIND | {"task": "fnd"}}, r"endpoints.page.pipeline.stages.find.task: no variant does task 'fnd'"),
        ({"read": READ | {"variants": ["f1"]}}, "pipeline.stages.read.variants: 'f1' does not do task 'read'"),
        ({"read": READ | {"rows_per_job": 5}}, "stages.read.rows_per_job is 5, and its variants run 4 rows at most"),
        ({"read": READ | {"adapter": "no_such_module:crop"}}, r"stages.read.adapter: .*cannot be imported"),
        (
            {"read": READ | {"adapter": "pipeline_functions:crip"}},
            r"stages.read.adapter: .*has no 'crip' \(did you mean",
        ),
        (
            {"read": READ | {"adapter": "pipeline_functions:long"}},
            "declared with @condition; name a function that is declared",
        ),
        ({"read": READ | {"adapter": "math:sqrt"}}, "is a plain function, and nothing says which tensors"),
        (
            {"read": READ | {"inputs": {"image": "query.image", "starts": "fnd.starts"}}},
            r"endpoints.page.pipeline: .*read.inputs.starts.*fnd",
        ),
        (
            {"read": READ | {"inputs": {"image": "query.image", "starts": "find.boxes"}}},
            r"read.inputs.starts takes find.boxes, and stage 'find' gives no 'boxes'",
        ),
        (
            {"read": {"task": "read", "inputs": {"image": "find.starts"}}},
            r"read.inputs.image takes find.starts, FP32\[-1,128\]; expected FP32\[-1,12,12\]",
        ),
        (
            {"find": FIND | {"when": {"call": "pipeline_functions:long", "inputs": {"starts": "read.probabilities"}}}},
            r"find.when.inputs.starts takes read.probabilities",
        ),
        (
            {"find": FIND | {"unless": {"call": "pipeline_functions:long", "inputs": {"starts": "find.starts"}}}},
            r"circle: find <- find",
        ),
        ({"pipeline": {"accuracy": "pages"}}, r"pipeline.accuracy: 'pages' is no pipeline of the catalogue \(page\)"),
        ({"pipeline": {"accuracy": "page"}}, "pipeline.accuracy: cannot read accuracies none.csv"),
    ],
)
def test_what_cannot_be_joined_is_refused_before_anything_is_served(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        assembled(app(**changes))


def test_measured_accuracy_is_refused_where_a_pipeline_has_none() -> None:
    config = app(controller={"planner": "ipa", "ipa": {"accuracy": "measured"}})
    with pytest.raises(
        ConfigError, match=r"endpoints.page.pipeline.accuracy names no file; give it one, or use accuracy"
    ):
        control_settings(config, CATALOGUE_WITHOUT_FILES, PROFILES)


def test_inputs_of_any_length_are_as_long_as_the_stage_that_takes_them_allows() -> None:
    ids, mask = TensorSpec("ids", "INT64", (-1, -1)), TensorSpec("mask", "INT64", (-1, -1))
    tagger = Variant(
        "t1",
        "tag",
        "onnx",
        Artifact("t1.onnx"),
        0.9,
        (ids, mask),
        (LABEL,),
        max_batch=8,
        lengths=Lengths(longest=4, mask="mask"),
    )
    stages = {"tag": {"task": "tag", "inputs": {"ids": "query.text", "mask": "query.own"}}}
    endpoint = {"slo_ms": 120, "pipeline": {"stages": stages}}
    config = app_config({"endpoints": {"page": endpoint}, "pools": {"cpu": {"workers": 2}}})
    profile = LatencyProfile("cpu", {n: BatchLatency(10, 1.0 * n, 0, *4 * (1.0 * n,)) for n in (1, 8)})
    info = assemble(config, Catalogue((tagger,), "."), {"cpu": {"t1": profile}}).endpoints["page"]
    assert info.metadata(0.12, ("t1",), ())["parameters"]["longest"] == 4
    assert info.optional == frozenset(), "stages are wired to all"

    def asked(text: int, own: int) -> InferRequest:
        given = {"text": text, "own": own}
        tensors = [
            {"name": name, "shape": [1, length], "datatype": "INT64", "data": [1] * length}
            for name, length in given.items()
        ]
        return decode(orjson.dumps({"inputs": tensors}), info)

    assert asked(4, 4).rows == 1
    for text, own, words in (
        (5, 5, "input 'text' has length 5 on axis 1; send 1 to 4"),
        (0, 0, "input 'text' has length 0"),
        (3, 2, "input 'own' has length 2, and 'text' has 3"),
    ):
        with pytest.raises(BadRequest, match=words):
            asked(text, own)

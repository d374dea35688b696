"""Instances of IPA's program in files: what is solved, and what is said of files that cannot be."""

import copy
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from benchmarks.solver import __main__ as solver
from benchmarks.solver.instance_file import instance_of, read_instance
from catalog.errors import ConfigError

BODY: dict[str, Any] = {
    "options": {"alpha": 1.0, "beta": 0.02, "accuracy": "rank"},
    "workers": {"gpu": 6},
    "pipelines": [
        {
            "name": "video",
            "slo_s": 0.5,
            "load_qps": 20,
            "stages": [
                {
                    "name": "detect",
                    "options": [
                        {
                            "variant": "n",
                            "accuracy": 0.45,
                            "cost": 1,
                            "device": "gpu",
                            "latency_s": {"1": 0.05, "4": 0.12},
                        },
                        {
                            "variant": "x",
                            "accuracy": 0.68,
                            "cost": 2,
                            "device": "gpu",
                            "latency_s": {"1": 0.1, "4": 0.3},
                        },
                    ],
                },
                {
                    "name": "classify",
                    "jobs_per_query": 2,
                    "options": [
                        {"variant": "18", "accuracy": 0.69, "cost": 1, "latency_s": {"1": 0.02, "2": 0.03, "8": 0.1}}
                    ],
                },
            ],
        }
    ],
}


def printed(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    monkeypatch.setattr(sys, "argv", ["solver", "--instance", str(path), *more])
    solver.main()
    return capsys.readouterr().out


def test_the_plan_and_its_objective_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "video.json"
    path.write_bytes(orjson.dumps(BODY))
    body = orjson.loads(printed(path, monkeypatch, capsys, "--json").splitlines()[-1])
    assert (body["status"], body["gap"]) == ("optimal", pytest.approx(0.0, abs=1e-6))
    own = body["pipelines"]["video"]
    replicas = {name: [each["replicas"] for each in actives] for name, actives in own["stages"].items()}
    assert replicas == {"detect": [2], "classify": [1]}
    assert own["stages"]["detect"][0]["variant"] == "x"
    assert own["latency_s"] <= own["slo_s"]
    rows = sum(actives[0]["batch_rows"] for actives in own["stages"].values())
    assert body["objective"] == pytest.approx(own["accuracy"] - 0.02 * own["cost"] - 1e-6 * rows)
    assert yaml.safe_load(printed(path, monkeypatch, capsys))["pipelines"].keys() == {"video"}


def test_what_a_file_leaves_out_has_its_default() -> None:
    (pipeline,) = instance_of(BODY).pipelines
    assert [stage.after for stage in pipeline.stages] == [(), ("detect",)]
    assert pipeline.stages[0].jobs_per_query == 1.0
    assert pipeline.stages[1].options[0].device == ""
    assert pipeline.stages[1].options[0].candidate.latency_s == (0.0, 0.02, 0.03, *[0.1] * 6)


def test_measured_accuracies_are_by_the_variants_of_the_stages() -> None:
    body = copy.deepcopy(BODY)
    body["pipelines"][0]["measured_accuracy"] = [{"variants": ["n", "18"], "accuracy": 0.5}]
    assert instance_of(body).pipelines[0].measured_accuracy == {("n", "18"): 0.5}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["pipelines"], [], "pipelines is empty; give at least one pipeline"),
        (["pipelines"], {}, "the file.pipelines is {}; give a list"),
        (["pipelines"], None, "the file has no pipelines; give a list"),
        (["nodes"], 1, "the file has a field 'nodes'; use pipelines, options, workers"),
        (["workers", "gpu"], 1.5, "workers.gpu is 1.5; give a whole number from 0"),
        (["workers", "gpu"], -1, "limited to -1; give a number from 0"),
        (["workers"], 3, "the file.workers is 3; give an object"),
        (["options", "alpha"], "much", "options.alpha is 'much'; give a number"),
        (["options", "accuracy"], "best", "accuracy of the IPA planner is 'best'; give one of rank"),
        (["options", "batch_sizes"], ["1"], r"options.batch_sizes is \['1'\]; give whole numbers"),
        (["options", "several"], "yes", "options.several is 'yes'; give true or false"),
        (["pipelines", 0, "slo_s"], None, r"pipelines\[0\] has no slo_s; give a number"),
        (["pipelines", 0, "slo_s"], 0, "pipeline 'video': slo_s is 0; give a time above 0"),
        (["pipelines", 0, "name"], 5, r"pipelines\[0\].name is 5; give a text"),
        (["pipelines", 0, "stages", 1, "after"], ["cut"], "takes from 'cut'"),
        (["pipelines", 0, "stages", 1, "options", 0, "latency_s"], {"2": 1}, "has no batch size 1"),
        (["pipelines", 0, "stages", 1, "options", 0, "latency_s"], {"1": 0.2, "x": 1}, "has batch size 'x'"),
        (
            ["pipelines", 0, "stages", 1, "options", 0, "latency_s"],
            {"1": 0.2, "2": 0.1},
            "falls from 0.2 at 1 to 0.1 at 2",
        ),
        (
            ["pipelines", 0, "stages", 1, "options", 0, "latency_s"],
            {"1": 0.1, "1000000000": 0.2},
            "has batch size 1000000000; give none above 65536",
        ),
        (["pipelines", 0, "load_qps"], 1e25, r"load_qps is 1e\+25; give a number of 1e\+15 at most"),
        (["options", "alpha"], 1e300, r"alpha is 1e\+300; give a number of 1e\+15 at most"),
        (["pipelines", 0, "stages", 1, "options", 0, "latency_s"], {"1": 0}, "a latency is not a time above 0"),
        (["pipelines", 0, "stages", 1, "options", 0, "accuracy"], 69, "accuracy is 69; give it from 0 to 1"),
        (
            ["pipelines", 0, "stages", 1, "options", 0],
            "resnet",
            r"stages\[1\].options\[0\] is 'resnet'; give an object",
        ),
    ],
)
def test_files_that_cannot_be_solved_are_refused_in_words(path: list[Any], value: Any, said: str) -> None:
    body = copy.deepcopy(BODY)
    inner = body
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ConfigError, match=said):
        instance_of(body)


def test_a_file_that_is_not_there_or_no_json_ends_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"cannot read instance .*none\.json: No such file"):
        printed(tmp_path / "none.json", monkeypatch, capsys)
    (tmp_path / "half.json").write_text('{"pipelines": [')
    with pytest.raises(SystemExit, match=r"half\.json is no JSON: .*; see docs/ipa-planner\.md"):
        printed(tmp_path / "half.json", monkeypatch, capsys)
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"list\.json: the file is \[\]; give an object"):
        read_instance(tmp_path / "list.json")

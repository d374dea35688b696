"""Projects that `accord init` writes: what is in them holds, and nothing of anybody's is overwritten."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import yaml
from external_weights import model_with_weights_at
from onnx import TensorProto, helper
from typer.testing import CliRunner

from catalog.catalogue import load_catalogue
from catalog.store import FsspecStore, checksum
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.making import make_runtime
from serve_app.cli.config_file import read_serve_file
from serve_app.cli.main import app


def accord(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["init", *arguments])


def answers(folder: Path, variant: str, **inputs: Any) -> dict[str, Any]:
    catalogue = load_catalogue(folder / "catalogue.yaml")
    store = FsspecStore(catalogue.root, folder / "cache")
    runtime = make_runtime(catalogue.variant(variant), store, RuntimeOptions())
    runtime.load()
    return runtime.run(inputs)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("init") / "shop"
    result = accord(str(folder))
    assert result.exit_code == 0, result.output
    return folder


def test_a_project_has_two_variants_whose_accuracy_is_that_on_its_labelled_data(project: Path) -> None:
    assert {path.name for path in project.iterdir()} == {
        "README.md", "catalogue.yaml", "labelled.npz", "models.py", "serve.yaml", "weights.npz"
    }  # fmt: skip
    assert len((project / "README.md").read_text().splitlines()) <= 12
    catalogue = load_catalogue(project / "catalogue.yaml")
    with np.load(project / "labelled.npz") as file:
        images, labels = file["image"], file["label"]
    with np.load(project / "weights.npz") as file:
        known = {image.tobytes() for image in file["images"]}
    assert not known & {image.reshape(-1).tobytes() for image in images}
    for variant in catalogue.variants:
        right = (answers(project, variant.name, image=images)["label"] == labels).mean()
        assert variant.accuracy == pytest.approx(right, abs=1e-4)
        assert 0.9 < variant.accuracy < 1
    linear, neighbours = catalogue.variants
    assert linear.accuracy < neighbours.accuracy


def test_the_config_of_a_project_is_one_that_can_be_served(project: Path) -> None:
    file = read_serve_file(project / "serve.yaml")
    (endpoint,) = file.app.endpoints.values()
    assert load_catalogue(project / file.app.catalogue).of_task(endpoint.task)


@pytest.mark.parametrize("name", ["2024", "1.5", "no", "2024-05-01"])
def test_a_name_that_yaml_takes_for_something_else_stays_a_name(tmp_path: Path, name: str) -> None:
    result = accord(str(tmp_path / name), "--from", str(linear(tmp_path / f"{name}.onnx")))
    assert result.exit_code == 0, result.output
    file = read_serve_file(tmp_path / name / "serve.yaml")
    assert {key: endpoint.task for key, endpoint in file.app.endpoints.items()} == {name: name}
    assert [each.name for each in load_catalogue(tmp_path / name / "catalogue.yaml").of_task(name)] == [name]


def test_nothing_is_overwritten(project: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in project.iterdir()}
    result = accord(str(project))
    assert result.exit_code == 2
    assert "nothing is overwritten" in result.stderr
    assert {path: path.read_bytes() for path in project.iterdir()} == before
    (tmp_path / "file").write_text("mine")
    assert accord(str(tmp_path / "file")).exit_code == 2
    assert (tmp_path / "file").read_text() == "mine"


def linear(path: Path, batch: Any = "n", width: Any = 4) -> Path:
    """Adds x to itself, sums it up, and gives a constant that has no rows."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["twice"]),
        helper.make_node("ReduceMax", ["x"], ["most"], axes=[1], keepdims=0),
        helper.make_node("ReduceMax", ["x"], ["of_all"], keepdims=0),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, width])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("twice", "most", "of_all")]
    graph = helper.make_graph(nodes, "g", [x], outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_an_onnx_file_is_described_by_itself_and_a_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = linear(tmp_path / "twice.onnx")
    monkeypatch.chdir(tmp_path)
    result = accord("--from", "twice.onnx", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["folder"] == "twice"
    (entry,) = yaml.safe_load((tmp_path / "twice" / "catalogue.yaml").read_text())["variants"]
    assert entry["artifact"] == {"uri": str(model), "sha256": checksum(model)}
    assert entry["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}]
    assert [(each["name"], each["shape"]) for each in entry["outputs"]] == [("twice", [-1, 4]), ("most", [-1])]
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(answers(tmp_path / "twice", "twice", x=x)["twice"], 2 * x)
    assert read_serve_file(tmp_path / "twice" / "serve.yaml").app.endpoints["twice"].task == "twice"


def test_a_model_that_only_gives_whole_numbers_may_be_a_classifier_and_wants_labels(tmp_path: Path) -> None:
    node = helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    label = helper.make_tensor_value_info("label", TensorProto.INT64, ["n"])
    graph = helper.make_graph([node], "g", [x], [label])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "best.onnx")
    words = "If label INT64 [-1] of best is a class, add `labels:` (the names of the classes"
    assert words in accord(str(tmp_path / "best"), "--from", str(tmp_path / "best.onnx")).stdout
    assert "labels" not in accord(str(tmp_path / "other"), "--from", str(linear(tmp_path / "twice.onnx"))).stdout


def test_outputs_that_are_no_tensors_or_empty_are_left_out(tmp_path: Path) -> None:
    """As of a classifier that skl2onnx exports: its probabilities are a list of maps."""
    nodes = [
        helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0),
        helper.make_node("ZipMap", ["x"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2, 3]),
        helper.make_node("Slice", ["x", "none", "none", "axis"], ["empty"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
    maps = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.INT64, None),
        helper.make_value_info("maps", helper.make_sequence_type_proto(maps)),
        helper.make_tensor_value_info("empty", TensorProto.FLOAT, None),
    ]
    constants = [
        helper.make_tensor(name, TensorProto.INT64, [1], [value]) for name, value in (("none", 0), ("axis", 1))
    ]
    graph = helper.make_graph(nodes, "g", [x], outputs, constants)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=versions, ir_version=9), tmp_path / "sk.onnx")
    result = accord(str(tmp_path / "sk"), "--from", str(tmp_path / "sk.onnx"))
    assert result.exit_code == 0, result.output
    (entry,) = yaml.safe_load((tmp_path / "sk" / "catalogue.yaml").read_text())["variants"]
    assert [each["name"] for each in entry["outputs"]] == ["label"]


def test_an_empty_folder_in_which_one_stands_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = linear(tmp_path / "m.onnx")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = accord(".", "--from", str(model))
    assert result.exit_code == 0, result.output
    assert Path("catalogue.yaml").is_file(), "it is the same folder"


def test_an_onnx_file_with_weights_beside_it_has_no_checksum(tmp_path: Path) -> None:
    model = model_with_weights_at(tmp_path, "model.onnx.data")
    weights = np.arange(4, dtype=np.float32)
    (tmp_path / "model.onnx.data").write_bytes(weights.tobytes())
    result = accord(str(tmp_path / "adds"), "--from", str(model))
    assert result.exit_code == 0, result.output
    (entry,) = yaml.safe_load((tmp_path / "adds" / "catalogue.yaml").read_text())["variants"]
    assert entry["artifact"] == {"uri": str(model)}
    x = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(answers(tmp_path / "adds", "model", x=x)["y"], x + weights)


def test_a_link_as_in_the_cache_of_hugging_face_stays_beside_its_weights(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    model_with_weights_at(blobs, "model.onnx.data").rename(blobs / "1f")
    weights = np.arange(4, dtype=np.float32)
    (blobs / "2e").write_bytes(weights.tobytes())
    (snapshot / "model.onnx").symlink_to("../../blobs/1f")
    (snapshot / "model.onnx.data").symlink_to("../../blobs/2e")
    result = accord(str(tmp_path / "adds"), "--from", str(snapshot / "model.onnx"))
    assert result.exit_code == 0, result.output
    (entry,) = yaml.safe_load((tmp_path / "adds" / "catalogue.yaml").read_text())["variants"]
    assert entry["artifact"] == {"uri": str(snapshot / "model.onnx")}
    x = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(answers(tmp_path / "adds", "model", x=x)["y"], x + weights)


def test_an_output_that_has_two_rows_whatever_the_batch_is_left_out(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], axes=[1], keepdims=0),
        helper.make_node("Constant", [], ["pair"], value=helper.make_tensor("v", TensorProto.FLOAT, [2], [1.0, 2.0])),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("pair", "most")]
    graph = helper.make_graph(nodes, "g", [x], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "two.onnx")
    result = accord(str(tmp_path / "two"), "--from", str(tmp_path / "two.onnx"))
    assert result.exit_code == 0, result.output
    (variant,) = load_catalogue(tmp_path / "two" / "catalogue.yaml").variants
    assert [spec.name for spec in variant.outputs] == ["most"]


def test_several_models_are_variants_of_one_task_and_have_to_be_alike(tmp_path: Path) -> None:
    one, other = linear(tmp_path / "one.onnx"), linear(tmp_path / "other.onnx")
    assert accord(str(tmp_path / "both"), "--from", str(one), "--from", str(other)).exit_code == 0
    assert [v.name for v in load_catalogue(tmp_path / "both" / "catalogue.yaml").variants] == ["one", "other"]
    wide = linear(tmp_path / "wide.onnx", width=5)
    result = accord(str(tmp_path / "neither"), "--from", str(one), "--from", str(wide))
    assert result.exit_code == 2
    assert "differ in inputs" in result.stderr
    assert not (tmp_path / "neither").exists()


def test_an_axis_of_any_length_is_fixed_by_name(tmp_path: Path) -> None:
    model = str(linear(tmp_path / "m.onnx", width="width"))
    refused = accord(str(tmp_path / "open"), "--from", model)
    assert refused.exit_code == 2
    assert (
        "input 'x' has 1 axis or axes of any length beside the batch; fix them with --size width=64" in refused.stderr
    )
    assert not (tmp_path / "open").exists()
    assert accord(str(tmp_path / "fixed"), "--from", model, "--size", "width=6").exit_code == 0
    (variant,) = load_catalogue(tmp_path / "fixed" / "catalogue.yaml").variants
    assert variant.inputs[0].shape == (-1, 6)
    assert variant.outputs[0].shape == (-1, 6)


class Net(torch.nn.Module):
    def forward(self, x, k):
        return {"sum": x.sum(1) + k, "x": x}


def test_an_exported_program_is_described_by_itself_and_a_trial(tmp_path: Path) -> None:
    batch = torch.export.Dim("batch")
    example = (torch.ones(3, 5), torch.ones(3))
    program = torch.export.export(Net(), example, dynamic_shapes=({0: batch}, {0: batch}))
    torch.export.save(program, tmp_path / "net.pt2")
    result = accord(str(tmp_path / "net"), "--from", str(tmp_path / "net.pt2"))
    assert result.exit_code == 0, result.output
    x = np.ones((4, 5), np.float32)
    given = answers(tmp_path / "net", "net", x=x, k=np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(given["sum"], [5, 6, 7, 8])


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give the name of a folder"),
        (["a b"], "'a b' is no name"),
        (["stats", "--from", "m.onnx", "--size", "width=3"], "no endpoint can be called 'stats'"),
        (["x", "--size", "a=3"], "give --from as well"),
        (["x", "--from", "none.onnx"], "none.onnx is not there; give an .onnx file"),
        (["x", "--from", "."], "has no config.json"),
        (["x", "--from", "text.txt"], "none of what can be read"),
        (["x", "--from", "scripted.pt"], "export the module with torch.export.save and give that file, or write an"),
        (["x", "--from", "saved.pt"], "holds pickled objects, as torch.save writes them, which are never loaded"),
        (["x", "--from", "broken.onnx"], "broken.onnx is no ONNX model"),
        (["x", "--from", "half.pt2"], "input 'input' is torch.bfloat16, and numpy has no such type"),
        (["x", "--from", "one.onnx"], "input 'x' has a batch of 1 row"),
        (["x", "--from", "m.onnx", "--size", "width=six"], "write the name of an axis and its size"),
        (["x", "--from", "m.onnx", "--size", "width=6", "--size", "zzz=4"], "--size zzz=4 fixes an axis that is not"),
        (["x", "--from", "m.onnx", "--size", "width=6", "--size", "n=4"], "axes of any length: width; leave it out"),
        (["x", "--from", "fixed.onnx", "--size", "zzz=4"], "no axis beside the batch is of any length; leave it out"),
        (["x", "--from", "m.onnx", "--from", "./m.onnx"], "are both called 'm'; rename one"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "broken.onnx").write_text("x")
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "scripted.pt"))
    torch.save(torch.nn.Linear(2, 2).state_dict(), tmp_path / "saved.pt")
    example = (torch.ones(2, 2, dtype=torch.bfloat16),)
    torch.export.save(torch.export.export(torch.nn.Identity(), example), tmp_path / "half.pt2")
    linear(tmp_path / "one.onnx", batch=1)
    linear(tmp_path / "m.onnx", width="width")
    linear(tmp_path / "fixed.onnx")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = accord(*arguments)
    assert result.exit_code == 2, result.output
    assert re.sub(r"\s+", " ", result.stderr).find(message) >= 0, result.stderr
    assert sorted(tmp_path.iterdir()) == before

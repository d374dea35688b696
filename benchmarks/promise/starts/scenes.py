"""The services whose starts are measured, each with models and profiles of its own."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.promise.systems import ENDPOINT, System, at_home
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from serve_app.loadgen.dataset import Dataset, encode_request, load_dataset

TASK = "sentiment"
WIDTH, CLASSES = 128, 2
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
SPREAD = 0.03
"""Of a made-up latency: standard deviation over mean."""

FRONT = 60
"""Variants on the front of accuracy and latency."""


@dataclass(frozen=True, eq=False)
class StartScene:
    """A Serve config, the endpoint that is loaded, and what queries carry."""

    content: Mapping[str, Any]
    endpoint: str
    dataset: Dataset


Scene = Callable[[Path], StartScene]
"""Writes what a scene needs to a folder."""


def quickstart(folder: Path) -> StartScene:
    """The quickstart with its default policy."""
    return StartScene(System.of("ramsis").config(folder), ENDPOINT, load_dataset("test", None))


def two_tiny_models(folder: Path) -> StartScene:
    """README's ten lines: two models that take microseconds whatever the batch, measured at the start."""
    names = {"small": 0.86, "large": 0.93}
    _write_catalogue(folder, names, hidden={"small": 4, "large": 32})
    return _sentiment(folder, {"slo_ms": 80}, {"workers": 2, "num_cpus": 0.5})


def flat_profiles(folder: Path) -> StartScene:
    """Like a GPU: as long for 64 rows as for one, 5 ms and 10 ms."""
    names = {"small": 0.86, "large": 0.93}
    _write_catalogue(folder, names, hidden=dict.fromkeys(names, 4))
    _write_profiles(folder, names, {"small": [5.0] * len(BATCH_SIZES), "large": [10.0] * len(BATCH_SIZES)})
    return _sentiment(folder, {"slo_ms": 100}, {"workers": 1, "num_cpus": 0.5}, profiled=True)


def sixty_variants(folder: Path) -> StartScene:
    """Each more accurate than the one before, and slower: 0.5 to 20 ms for one row, 8 times that for 64."""
    names = {f"variant-{number:02d}": 0.6 + 0.35 * (number / (FRONT - 1)) ** 0.5 for number in range(FRONT)}
    _write_catalogue(folder, names, hidden=dict.fromkeys(names, 4))
    growth = 1.0 + 7.0 * (np.array(BATCH_SIZES) - 1.0) / (BATCH_SIZES[-1] - 1.0)
    first_ms = np.geomspace(0.5, 20.0, FRONT)
    _write_profiles(
        folder, names, {name: (ms * growth).tolist() for name, ms in zip(names, first_ms.tolist(), strict=True)}
    )
    return _sentiment(folder, {"slo_ms": 100}, {"workers": 1, "num_cpus": 0.5}, profiled=True)


SCENES: Mapping[str, Scene] = {
    "quickstart": quickstart,
    "two_tiny_models": two_tiny_models,
    "flat_profiles": flat_profiles,
    "sixty_variants": sixty_variants,
}


def _sentiment(
    folder: Path, endpoint: Mapping[str, Any], pool: Mapping[str, Any], profiled: bool = False
) -> StartScene:
    args: dict[str, Any] = {
        "catalogue": str(folder / "catalogue.yaml"),
        "endpoints": {TASK: {"task": TASK, **endpoint}},
        "pools": {"cpu": dict(pool)},
    }
    if profiled:  # the models themselves are tiny: variants are emulated, so that they take what the profiles say
        args |= {"profiles": {"cpu": str(folder / "profiles.csv")}, "emulate": {}}
    application = {"name": "accord", "route_prefix": "/", "import_path": "serve_app.main:build", "args": args}
    ids = {"name": "ids", "shape": [1, WIDTH], "datatype": "INT64", "data": list(range(WIDTH))}
    body, _ = encode_request({"inputs": [ids]}, None)
    return StartScene(at_home({"applications": [application]}, folder), TASK, Dataset((body,)))


def _write_catalogue(folder: Path, accuracies: Mapping[str, float], hidden: Mapping[str, int]) -> None:
    """A catalogue and its models; models of the same size are copies of one file."""
    made: dict[int, Path] = {}
    for name in accuracies:
        path = folder / f"{name}.onnx"
        if hidden[name] in made:
            shutil.copyfile(made[hidden[name]], path)
        else:
            write_model(path, hidden[name])
            made[hidden[name]] = path
    tensors = {
        "inputs": [{"name": "ids", "datatype": "INT64", "shape": [-1, WIDTH]}],
        "outputs": [{"name": "scores", "datatype": "FP32", "shape": [-1, CLASSES]}],
    }
    variants = [
        {"name": name, "task": TASK, "runtime": "onnx", "artifact": {"uri": f"{name}.onnx"}, "accuracy": accuracy}
        | tensors
        for name, accuracy in accuracies.items()
    ]
    text = yaml.safe_dump({"version": 1, "variants": variants})
    (folder / "catalogue.yaml").write_text(text, encoding="utf-8")


def write_model(path: Path, hidden: int) -> None:
    """Token ids to two scores over one hidden layer; weights are seeded. Needs the package ``onnx``."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(hidden)
    weights = [
        numpy_helper.from_array(0.01 * rng.standard_normal(shape, dtype=np.float32), name)
        for name, shape in (("first", (WIDTH, hidden)), ("second", (hidden, CLASSES)))
    ]
    nodes = [
        helper.make_node("Cast", ["ids"], ["values"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["values", "first"], ["inner"]),
        helper.make_node("Relu", ["inner"], ["positive"]),
        helper.make_node("MatMul", ["positive", "second"], ["scores"]),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["rows", WIDTH])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", CLASSES])
    graph = helper.make_graph(nodes, "tiny", [ids], [scores], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def _write_profiles(folder: Path, accuracies: Mapping[str, float], means_ms: Mapping[str, Sequence[float]]) -> None:
    """Made-up latencies: normal, with `SPREAD`."""
    rows = {
        name: ProfiledVariant(
            100.0 * accuracy,
            LatencyProfile("cpu", {size: _latency(ms) for size, ms in zip(BATCH_SIZES, means_ms[name], strict=True)}),
        )
        for name, accuracy in accuracies.items()
    }
    write_profiles(folder / "profiles.csv", rows)


def _latency(mean_ms: float) -> BatchLatency:
    """Quantiles of a normal distribution."""
    std_ms = SPREAD * mean_ms
    p90_ms, p95_ms, p99_ms = (mean_ms + z * std_ms for z in (1.282, 1.645, 2.326))
    return BatchLatency(100, mean_ms, std_ms, mean_ms, p90_ms, p95_ms, p99_ms)

"""Queries of different lengths: a stage that keeps them apart, and small ONNX models that take them."""

from pathlib import Path

import onnx
import yaml
from onnx import TensorProto, helper

from catalog.lengths import LengthRule, Lengths
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from dispatch.balancing.registry import create_balancer
from dispatch.lengths.costs import LengthCosts
from dispatch.lengths.stage_lengths import StageLengths
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy

LONGEST = 64
TYPICAL = 16
SHARE = 0.25
PADDING = 7
"""Not 0, so that a model that adds padding up is wrong."""

IDS = TensorSpec("ids", "FP32", (-1, -1))
MASK = TensorSpec("mask", "FP32", (-1, -1))
MEAN = TensorSpec("mean", "FP32", (-1,))
DOUBLED = TensorSpec("doubled", "FP32", (-1, -1))


def rule() -> LengthRule:
    """Of the models here."""
    made = LengthRule.of(lengths(), (IDS, MASK), (MEAN, DOUBLED))
    assert made is not None
    return made


def lengths() -> Lengths:
    return Lengths(longest=LONGEST, typical=TYPICAL, padding={"ids": PADDING}, mask="mask")


def costs(max_batch: int, lengths: tuple[int, ...] = (4, TYPICAL, LONGEST)) -> LengthCosts:
    """A batch takes in proportion to its length."""
    return LengthCosts(lengths, tuple((1.0,) * 1 + (length / TYPICAL,) * max_batch for length in lengths))


def endpoint(
    candidates: tuple[Candidate, ...],
    *,
    slo_s: float = 0.2,
    selection: SelectionPolicy | None = None,
    balancing: str = "round_robin",
    share: float = SHARE,
    drop_late: bool = False,
) -> EndpointPlan:
    """One stage ``spans`` whose batches cost in proportion to their length."""
    by_variant = {each.variant: costs(each.max_batch) for each in candidates}
    stage = StagePlan(
        {"cpu": candidates},
        selection or GreedySelection(),
        create_balancer(balancing),
        lengths=StageLengths(rule(), share, {"cpu": by_variant}),
    )
    return EndpointPlan.of_stage("spans", stage, slo_s=slo_s, max_queued_rows=10**6, drop_late=drop_late)


def write_model(path: Path, *, masked: bool) -> Path:
    """``doubled`` is twice ``ids``, ``mean`` its mean over the length: of what the mask leaves, or of all there is."""
    kept = [helper.make_node("Mul", ["ids", "mask"], ["kept"])] if masked else []
    counted = helper.make_node("ReduceSum", ["mask", "axes"], ["count"], keepdims=0)
    summed = helper.make_node("ReduceSum", ["kept" if masked else "ids", "axes"], ["sum"], keepdims=0)
    mean = helper.make_node("Div", ["sum", "count"], ["mean"])
    if not masked:
        counted = helper.make_node("ReduceMean", ["ids"], ["mean"], axes=[1], keepdims=0)
        summed = mean = None
    nodes = [*kept, counted, summed, mean, helper.make_node("Add", ["ids", "ids"], ["doubled"])]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    given = [spec.name for spec in (IDS, MASK)[: 2 if masked else 1]]
    graph = helper.make_graph(
        [node for node in nodes if node is not None],
        "spans",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "length"]) for name in given],
        [
            helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["n"]),
            helper.make_tensor_value_info("doubled", TensorProto.FLOAT, ["n", "length"]),
        ],
        [axes] if masked else [],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def variant(*, masked: bool = True) -> Variant:
    """The model's entry in a catalogue; its artifact is ``spans.onnx``."""
    return Variant(
        name="spans",
        task="spans",
        runtime="onnx",
        artifact=Artifact("spans.onnx"),
        accuracy=0.9,
        inputs=(IDS, MASK) if masked else (IDS,),
        outputs=(MEAN, DOUBLED),
        max_batch=16,
        lengths=lengths() if masked else Lengths(longest=LONGEST, typical=TYPICAL, padding={"ids": PADDING}),
    )


def add_to(catalogue: Path) -> None:
    """Add the masked model to a catalogue file, as task ``spans``, with rows in ``profiles.csv`` beside it."""
    write_model(catalogue.parent / "spans.onnx", masked=True)
    content = yaml.safe_load(catalogue.read_text())
    tensors = {
        kind: [{"name": s.name, "datatype": s.datatype, "shape": list(s.shape)} for s in specs]
        for kind, specs in (("inputs", (IDS, MASK)), ("outputs", (MEAN, DOUBLED)))
    }
    declared = {"longest": LONGEST, "typical": TYPICAL, "padding": {"ids": PADDING}, "mask": "mask"}
    entry = {"name": "spans", "task": "spans", "runtime": "onnx", "artifact": {"uri": "spans.onnx"}, "accuracy": 0.9}
    content["variants"].append(entry | tensors | {"lengths": declared})
    catalogue.write_text(yaml.safe_dump(content))
    profiles = catalogue.parent / "profiles.csv"
    header, *rows = profiles.read_text().splitlines()
    rows = [f"{row}," for row in rows] + [f"spans,90,1,10,1,0,1,1,1,1,{length}" for length in (TYPICAL, LONGEST)]
    profiles.write_text("\n".join([f"{header},length", *rows]))

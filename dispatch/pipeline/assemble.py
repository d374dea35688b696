"""From wired stages to the graph that the flow runs."""

from collections.abc import Mapping, Sequence

import numpy as np

from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from dispatch.pipeline.calls import PipelineAnswer, StageParts, StageRuns
from dispatch.pipeline.checks import QueryTensors, Specs, check_answer, check_wiring
from dispatch.pipeline.graph import Graph, Node, check_name, unknown_source
from dispatch.pipeline.wiring import AnswerWiring, StageWiring, Wire, stages_of


def graph_of(stages: Sequence[StageWiring], answer: AnswerWiring | None = None) -> tuple[Graph, Specs, Specs]:
    """The graph, with the inputs that a query must have and the outputs that it gets.

    Without an ``answer`` these are the outputs of the only stage that no other takes from. The nodes are in the given
    order as far as each stands behind its sources. Raises `ConfigError` for names that are there twice, sources and
    tensors that are not there, types that do not match, cycles, and stages that lead nowhere.
    """
    if not stages:
        raise ConfigError("a pipeline has no stages; give it at least one")
    names = [stage.name for stage in stages]
    for name in names:
        check_name(name, names)
    query = QueryTensors()
    outputs = {stage.name: stage.outputs for stage in stages}
    for stage in stages:
        check_wiring(stage, outputs, query)
    ordered = _in_order(stages)
    answer = _answer_of(stages, answer, outputs)
    given = check_answer(answer, outputs, query)
    graph = Graph(tuple(_node(stage) for stage in ordered), PipelineAnswer(answer, given))
    return graph, query.specs, given


def _node(stage: StageWiring) -> Node:
    return Node(
        stage.name,
        stage.sources,
        StageParts(stage),
        needs=stage.needs,
        independent=stage.independent,
        runs=None if stage.condition is None else StageRuns(stage),
        nothing={spec.name: np.empty((0, *spec.item_shape_at(1)), spec.dtype) for spec in stage.outputs},
    )


def _answer_of(
    stages: Sequence[StageWiring], answer: AnswerWiring | None, outputs: Mapping[str, tuple[TensorSpec, ...]]
) -> AnswerWiring:
    """The answer as it was given, or the outputs of the last stage; raises `ConfigError`."""
    taken = {source for stage in stages for source in stage.sources}
    last = [stage.name for stage in stages if stage.name not in taken]
    if answer is None:
        if len(last) > 1:
            raise ConfigError(
                f"no other stage takes from any of {', '.join(last)}; say with `answer` which of their tensors the "
                "answer is made of"
            )
        (only,) = last
        return AnswerWiring({spec.name: Wire(only, spec.name) for spec in outputs[only]})
    answered = stages_of(answer.wires)
    if not answered:
        raise ConfigError("answer.inputs takes nothing of any stage; name at least one of their tensors")
    for source in answered:
        if source not in outputs:
            raise unknown_source("answer.inputs", source, list(outputs))
    for name in last:
        if name not in answered:
            raise ConfigError(
                f"nothing takes from stage {name!r}, neither another stage nor the answer; take from it, or remove it"
            )
    return answer


def _in_order(stages: Sequence[StageWiring]) -> list[StageWiring]:
    """Each behind its sources, of those that may stand next always the first given; raises `ConfigError` for cycles."""
    left = {stage.name: stage for stage in stages}
    ordered = []
    while left:
        ready = next((stage for stage in left.values() if left.keys().isdisjoint(stage.sources)), None)
        if ready is None:
            raise ConfigError(
                f"stages take from each other in a circle: {' <- '.join(_circle(left))}; remove one of these edges"
            )
        ordered.append(left.pop(ready.name))
    return ordered


def _circle(left: Mapping[str, StageWiring]) -> list[str]:
    """Some stages, each of which takes from the next, with the first again at the end; all of ``left`` take of it."""
    path = [next(iter(left))]
    while path[-1] not in path[:-1]:
        path.append(next(source for source in left[path[-1]].sources if source in left))
    return path[path.index(path[-1]) :]

"""From the config of a pipeline to how its endpoint is served."""

from dataclasses import dataclass
from typing import TypeVar

from autoscaler.cluster.cluster import Stage
from autoscaler.placement.stage_service import shares_behind_s
from catalog.adapter import Adapter, Condition, import_function
from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.lengths import LengthRule
from catalog.measured_accuracy import read_measured_accuracy
from catalog.tensor import TensorSpec
from dispatch.balancing.registry import create_balancer
from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.assemble import graph_of
from dispatch.pipeline.graph import Graph
from dispatch.pipeline.wiring import AnswerWiring, StageWiring, Wire
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.selection.greedy import GreedySelection
from serve_app.build.candidates import Profiles, stage_candidates, stage_variants, within_pools
from serve_app.build.endpoints.lengths import rule_of, stage_lengths
from serve_app.config.endpoints.endpoint import EndpointConfig
from serve_app.config.endpoints.pipeline import AnswerConfig, PipelineConfig, StageConfig
from serve_app.config.schema import AppConfig
from serve_app.http.endpoint_info import EndpointInfo

F = TypeVar("F", Adapter, Condition)

CSV = ".csv"
"""How the name of a file of accuracies ends; other names are of the catalogue's."""

MOST_ROWS = 64
"""Items in one request."""


@dataclass(frozen=True)
class WiredPipeline:
    """The graph of a pipeline, what clients send to it, how long that may be, and what they get."""

    graph: Graph
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    lengths: tuple[LengthRule, ...] = ()

    @property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """By stage the stages that it takes from, each behind its sources."""
        return {node.name: node.sources for node in self.graph.nodes}


def wired_pipeline(name: str, config: AppConfig, catalogue: Catalogue) -> WiredPipeline:
    """Import the functions of a pipeline and check all edges; raises `ConfigError` that names the edge."""
    endpoint = config.endpoints[name]
    pipeline = _of(endpoint)
    where = f"endpoints.{name}.pipeline"
    wirings = []
    for stage, variants in stage_variants(name, endpoint, catalogue).items():
        given = pipeline.stages[stage]
        most = min(within_pools(variant, config.pools_of(name)).max_batch for variant in variants)
        if given.rows_per_job > most:
            raise ConfigError(
                f"{where}.stages.{stage}.rows_per_job is {given.rows_per_job}, and its variants run {most} rows at "
                "most; lower it"
            )
        inputs, outputs = variants[0].inputs, variants[0].outputs
        wirings.append(_wiring(f"{where}.stages.{stage}", stage, given, inputs, outputs, rule_of(variants)))
    answer = None if pipeline.answer is None else _answer(f"{where}.answer", pipeline.answer)
    try:
        graph, given_inputs, given_outputs = graph_of(wirings, answer)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    lengths = (wiring.query_lengths for wiring in wirings)
    return WiredPipeline(graph, given_inputs, given_outputs, tuple(rule for rule in lengths if rule is not None))


def check_pipelines(config: AppConfig, catalogue: Catalogue) -> None:
    """Raise `ConfigError` for what is wrong with pipelines, before anything is measured or started."""
    for name, endpoint in config.endpoints.items():
        if endpoint.pipeline is not None:
            measured_accuracy(name, endpoint, catalogue, wired_pipeline(name, config, catalogue))


def pipeline_plan(
    name: str, config: AppConfig, catalogue: Catalogue, profiles: Profiles, wired: WiredPipeline
) -> EndpointPlan:
    """How an endpoint with a pipeline is served until a planner says more; raises `ConfigError`."""
    endpoint = config.endpoints[name]
    candidates = stage_candidates(name, config, catalogue, profiles)
    stages = tuple(Stage(stage, after, candidates[stage]) for stage, after in wired.sources.items())
    behind_s = shares_behind_s(stages, endpoint.slo_ms / 1e3)
    pools = None if endpoint.pools is None else frozenset(endpoint.pools)
    variants = stage_variants(name, endpoint, catalogue)
    plans = {
        stage.name: StagePlan(
            stage.candidates,
            GreedySelection(),
            create_balancer(endpoint.balancing),
            pools=pools,
            after_s=behind_s[stage.name],
            lengths=stage_lengths(variants[stage.name], profiles, endpoint.padding_share),
        )
        for stage in stages
    }
    flow = PipelineFlow(wired.graph, measured_accuracy(name, endpoint, catalogue, wired))
    return EndpointPlan(name, endpoint.limits, plans, flow)


def pipeline_info(name: str, endpoint: EndpointConfig, catalogue: Catalogue, wired: WiredPipeline) -> EndpointInfo:
    """What a client may know of a pipeline."""
    variants = stage_variants(name, endpoint, catalogue)
    return EndpointInfo(
        name,
        {stage: _of(endpoint).stages[stage].task for stage in wired.sources},
        wired.inputs,
        wired.outputs,
        (),
        min(endpoint.max_queued_rows, MOST_ROWS),
        frozenset(variant.name for own in variants.values() for variant in own if variant.emulated),
        stage_inputs={stage: own[0].inputs for stage, own in variants.items()},
        lengths=wired.lengths,
    )


def measured_accuracy(
    name: str, endpoint: EndpointConfig, catalogue: Catalogue, wired: WiredPipeline
) -> dict[tuple[str, ...], float]:
    """What was measured of the whole pipeline, by the variants of its stages in the order of the graph.

    Empty where the config names nothing; raises `ConfigError`.
    """
    given = _of(endpoint).accuracy
    if given is None:
        return {}
    where = f"endpoints.{name}.pipeline.accuracy"
    path = given if given.endswith(CSV) else catalogue.pipelines.get(given)
    if path is None:
        known = ", ".join(catalogue.pipelines) or "none"
        raise ConfigError(f"{where}: {given!r} is no pipeline of the catalogue ({known}); name one, or a {CSV} file")
    variants = stage_variants(name, endpoint, catalogue)
    known_names = {stage: {variant.name for variant in own} for stage, own in variants.items()}
    try:
        return read_measured_accuracy(path, tuple(wired.sources), known_names)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _of(endpoint: EndpointConfig) -> PipelineConfig:
    assert endpoint.pipeline is not None
    return endpoint.pipeline


def _wiring(
    where: str,
    name: str,
    config: StageConfig,
    inputs: tuple[TensorSpec, ...],
    outputs: tuple[TensorSpec, ...],
    lengths: LengthRule | None,
) -> StageWiring:
    chosen = config.when or config.unless
    condition = None
    if chosen is not None:
        condition = _function(f"{where}.{'unless' if config.when is None else 'when'}.call", chosen.call, Condition)
    return StageWiring(
        name,
        inputs,
        outputs,
        _wires(f"{where}.inputs", config.inputs),
        None if config.adapter is None else _function(f"{where}.adapter", config.adapter, Adapter),
        condition,
        {} if chosen is None else _wires(f"{where}.condition", chosen.inputs),
        config.unless is not None,
        config.rows_per_job,
        lengths,
    )


def _answer(where: str, config: AnswerConfig) -> AnswerWiring:
    adapter = None if config.adapter is None else _function(f"{where}.adapter", config.adapter, Adapter)
    return AnswerWiring(_wires(f"{where}.inputs", config.inputs), adapter)


def _wires(where: str, inputs: dict[str, str]) -> dict[str, Wire]:
    return {name: Wire.read(written, f"{where}.{name}") for name, written in inputs.items()}


def _function(where: str, path: str, kind: type[F]) -> F:
    """An adapter or a condition of somebody's module; raises `ConfigError`."""
    try:
        found = import_function(path)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    if not isinstance(found, kind):
        other = type(found).__name__.lower()
        raise ConfigError(
            f"{where}: {path} is declared with @{other}; name a function that is declared with @{kind.__name__.lower()}"
        )
    return found

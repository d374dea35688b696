"""The policies by load of a config, assembled and played in virtual time."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog.catalogue import Catalogue, load_catalogue
from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from dispatch.load.moving_average import MovingAverage
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.load_based.ladder_selection import LadderSelection
from dispatch.selection.load_based.load_ladder import Rung, adaptive_batch
from serve_app.build.assemble import assemble
from serve_app.build.candidates import Profiles
from serve_app.build.ladders import ladders_for
from serve_app.config.schema import AppConfig
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.reporting.report import EndpointReport, Report
from workload.rate import RateSchedule
from workload.renewal import Poisson

QUICKSTART = Path(__file__).parents[3] / "configs" / "quickstart.yaml"
PLAY_S = 20.0


def linear(first_ms: float, row_ms: float) -> LatencyProfile:
    """A batch of n rows takes a fixed time and as much for each row."""
    runs = {rows: first_ms + rows * row_ms for rows in (1, 64)}
    return LatencyProfile("cpu", {rows: BatchLatency(100, ms, 0, ms, ms, ms, ms) for rows, ms in runs.items()})


ON_CPU = {
    "digits-mlp": linear(0.1, 0.02),
    "digits-cnn-xs": linear(0.2, 0.04),
    "digits-cnn-s": linear(0.3, 0.06),
    "digits-cnn-m": linear(0.4, 0.10),
    "digits-cnn-l": linear(0.5, 0.20),
    "digits-cnn-xl": linear(0.6, 0.40),
    "digits-ensemble": linear(1.0, 1.20),
}
PROFILES: Profiles = {"cpu": ON_CPU, "cuda": {name: linear(1.0, 0.01) for name in ON_CPU}}
BY_HAND = [
    {"below_qps": 400, "variant": "digits-ensemble", "max_rows": 16},
    {"below_qps": 1200, "variant": "digits-cnn-xl"},
    {"variant": "digits-mlp"},
]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue("builtin")


def quickstart(policy: str, pools: Mapping[str, Any] | None = None, **changes: Any) -> AppConfig:
    """The quickstart with another policy."""
    args = yaml.safe_load(QUICKSTART.read_text())["applications"][0]["args"]
    selection: dict[str, Any] = {"policy": policy} | ({"ladder": BY_HAND} if policy == "load_ladder" else {})
    args["endpoints"]["digits"]["selection"] = selection | changes
    return AppConfig.model_validate(args | ({} if pools is None else {"pools": pools}))


def assembled(config: AppConfig, catalogue: Catalogue) -> EndpointPlan:
    ladders = ladders_for(config, catalogue, PROFILES)
    return assemble(config, catalogue, PROFILES, {}, ladders).plan.endpoints["digits"]


def rungs_of(plan: EndpointPlan, device: str = "cpu") -> tuple[Rung, ...]:
    assert isinstance(plan.stage.selection, LadderSelection)
    return plan.stage.selection.ladders[device].rungs


def inflated(plan: EndpointPlan, factor: float) -> EndpointPlan:
    """Workers are slower by a factor than the policy was made for, and the candidates say so."""
    slower = tuple(
        replace(c, latency_s=tuple(factor * time_s for time_s in c.latency_s), mean_s=())
        for c in plan.stage.candidates["cpu"]
    )
    return plan.with_stage(candidates={"cpu": slower})


def played(plan: EndpointPlan, load_qps: float, truth: EndpointPlan | None = None) -> EndpointReport:
    """Poisson arrivals on one worker that begins afresh, at the latencies of ``truth``."""
    arrivals_s = Poisson(RateSchedule.constant(load_qps), seed=5).times_s(PLAY_S)
    fresh = plan.with_stage(load=MovingAverage())
    host = Host(Plan(1, {"digits": fresh}), {"cpu-0": "cpu"}, PlannedLatency(truth or plan))
    return Report.of(host.run({"digits": arrivals_s}), interval_s=PLAY_S).endpoints["digits"]


def violation_pct(report: EndpointReport) -> float:
    assert report.violation_pct is not None
    return report.violation_pct


def most_used(report: EndpointReport) -> str:
    return max(report.share_pct, key=report.share_pct.__getitem__)


@pytest.mark.parametrize("policy", ["jellyfish_plus", "model_switching", "load_ladder"])
def test_the_quickstart_is_served_by_load_with_few_violations_and_less_accurately_under_more_load(
    catalogue: Catalogue, policy: str
) -> None:
    plan = assembled(quickstart(policy), catalogue)
    assert (plan.stage.selection.name, plan.stage.balancer) == (policy, None)
    light, heavy = played(plan, 100.0), played(plan, 1500.0)
    assert max(violation_pct(light), violation_pct(heavy)) <= 0.5
    assert most_used(light) == "digits-ensemble"
    assert light.accuracy_pct is not None
    assert heavy.accuracy_pct is not None
    assert light.accuracy_pct > heavy.accuracy_pct


@pytest.mark.parametrize("policy", ["jellyfish_plus", "model_switching", "load_ladder"])
def test_what_the_candidates_say_of_a_slower_worker_moves_the_rung_and_keeps_the_objective(
    catalogue: Catalogue, policy: str
) -> None:
    """Just below the end of the first rung, on a worker twice as slow."""
    plan = assembled(quickstart(policy), catalogue)
    first, second, *_ = rungs_of(plan)
    load_qps = 0.9 * first.below_qps
    slower = inflated(plan, 2.0)
    told, untold = played(slower, load_qps), played(plan, load_qps, truth=slower)
    assert (most_used(told), most_used(untold)) == (second.variant, first.variant)
    assert violation_pct(told) <= 0.5
    assert violation_pct(untold) >= 10.0


def test_ladders_are_made_for_each_device_and_for_the_workers_of_one_router(catalogue: Catalogue) -> None:
    pools = {"a": {"workers": 3}, "b": {"workers": 1, "device": "cuda", "num_gpus": 1}}
    config = quickstart("jellyfish_plus", pools).model_copy(update={"routers": 2})
    (selection,) = ladders_for(config, catalogue, PROFILES).values()
    assert selection.ladders.keys() == {"cpu", "cuda"}
    assert {ladder.workers for ladder in selection.ladders.values()} == {2}
    assert selection.ladders["cuda"].at(2000.0).variant == "digits-ensemble"  # as fast as any there
    assert selection.ladders["cpu"].at(2000.0).variant != "digits-ensemble"


def test_a_ladder_by_hand_is_of_all_workers_and_its_batches_take_half_the_objective(catalogue: Catalogue) -> None:
    config = quickstart("load_ladder", {"cpu": {"workers": 4}}).model_copy(update={"routers": 2})
    ladder = ladders_for(config, catalogue, PROFILES)["digits"].ladders["cpu"]
    assert ladder.workers == 4
    by_name = {c.variant: c for c in assembled(config, catalogue).stage.candidates["cpu"]}
    assert ladder.rungs == (
        Rung.of(by_name["digits-ensemble"], 400.0, max_rows=16),
        Rung.of(by_name["digits-cnn-xl"], 1200.0, max_rows=adaptive_batch(by_name["digits-cnn-xl"], 0.1)),
        Rung.of(by_name["digits-mlp"], inf, max_rows=64),
    )


def test_a_ladder_that_does_not_fit_the_catalogue_is_refused(catalogue: Catalogue) -> None:
    rung = {"variant": "digits-mlp", "max_rows": 65}
    message = r"endpoints.digits.selection.ladder\[0\].max_rows is 65, and 'digits-mlp' takes batches of up to 64"
    with pytest.raises(ConfigError, match=message):
        ladders_for(quickstart("load_ladder", ladder=[rung]), catalogue, PROFILES)


def test_simulated_latencies_are_kept_between_starts(catalogue: Catalogue) -> None:
    seen: list[tuple[str, int, int]] = []
    config = quickstart("model_switching", {"cpu": {"workers": 3}})
    made = ladders_for(config, catalogue, PROFILES, lambda *progress: seen.append(progress))
    assert seen[-1] == ("digits", seen[0][2], seen[0][2])
    seen.clear()
    assert ladders_for(config, catalogue, PROFILES, lambda *progress: seen.append(progress)) == made
    assert seen == []
    limits_qps = [rung.below_qps for rung in made["digits"].ladders["cpu"].rungs]
    assert all(low < high for low, high in pairwise(limits_qps))


def test_endpoints_of_other_policies_have_no_ladder(catalogue: Catalogue) -> None:
    assert ladders_for(quickstart("greedy"), catalogue, PROFILES) == {}


def test_a_ladder_is_needed_where_the_config_asks_for_one(catalogue: Catalogue) -> None:
    with pytest.raises(ConfigError, match=r"endpoints.digits.selection: selection policy 'jellyfish_plus' is made"):
        assemble(quickstart("jellyfish_plus"), catalogue, PROFILES, {})


APART: dict[str, dict[str, Any]] = {
    "a": {"variants": ["digits-cnn-xl", "digits-mlp"]},
    "b": {"device": "cuda", "num_gpus": 1, "variants": ["digits-ensemble", "digits-cnn-xl"]},
}
"""Of the rungs by hand one pool lacks the first, the other the last."""


def test_a_ladder_by_hand_goes_without_the_rungs_whose_variants_no_pool_of_the_device_may_hold(
    catalogue: Catalogue,
) -> None:
    held: Profiles = {
        "cpu": {name: ON_CPU[name] for name in APART["a"]["variants"]},
        "cuda": {name: ON_CPU[name] for name in APART["b"]["variants"]},
    }
    (selection,) = ladders_for(quickstart("load_ladder", APART), catalogue, held).values()
    assert {
        device: [(rung.below_qps, rung.variant) for rung in ladder.rungs]
        for device, ladder in selection.ladders.items()
    } == {
        "cpu": [(1200.0, "digits-cnn-xl"), (inf, "digits-mlp")],
        "cuda": [(400.0, "digits-ensemble"), (inf, "digits-cnn-xl")],
    }


@pytest.mark.parametrize(("policy", "devices"), [("load_ladder", {"cuda"}), ("jellyfish_plus", {"cpu", "cuda"})])
def test_a_device_without_any_rung_by_hand_has_no_ladder(catalogue: Catalogue, policy: str, devices: set[str]) -> None:
    pools = {"a": {"variants": ["digits-cnn-s"]}, "b": APART["b"] | {"variants": None}}
    (selection,) = ladders_for(quickstart(policy, pools), catalogue, PROFILES).values()
    assert selection.ladders.keys() == devices

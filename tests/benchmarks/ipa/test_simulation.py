"""Systems on excerpts whose load is known: costs and accuracies as counted by hand."""

import pytest

from benchmarks.ipa.simulation import simulate
from benchmarks.ipa.systems import FA2_HIGH, FA2_LOW, IPA, LOKI, RIM, Planned, Setting
from ipa_benchmark_scene import BURST_QPS, USUAL_QPS, burst, pipelines, steady

VIDEO, NLP, SUM_QA = (pipelines()[name] for name in ("video", "nlp", "sum-qa"))


def test_fa2_has_the_ends_of_the_accuracy_score_and_costs_what_its_plan_costs() -> None:
    for system, score in ((FA2_LOW, 0.0), (FA2_HIGH, 100.0)):
        outcome = simulate(VIDEO, Setting(system), steady(4), seed=1)
        assert outcome.accuracy == score
        assert outcome.cost_cores == pytest.approx(Planned(VIDEO, Setting(system)).plan(4.0).cost)
        assert (outcome.violated, outcome.changes) == (0, 0)
        assert outcome.queries == 4 * 600


def test_a_stage_with_one_variant_counts_in_full() -> None:
    assert simulate(NLP, Setting(FA2_LOW), steady(2), seed=1).accuracy == pytest.approx(100.0 / 3)


def test_the_product_is_that_of_the_accuracies() -> None:
    low = simulate(VIDEO, Setting(FA2_LOW), steady(4), seed=1)
    assert low.product == pytest.approx(0.457 * 0.6975)


def test_weights_lead_from_the_cheapest_variants_to_the_most_accurate() -> None:
    outcomes = [simulate(VIDEO, Setting(IPA, alpha=alpha), steady(4), seed=1) for alpha in (0.001, 4.0, 1000.0)]
    assert outcomes[0].cost_cores == simulate(VIDEO, Setting(FA2_LOW), steady(4), seed=1).cost_cores
    assert outcomes[0].accuracy > 0  # what costs nothing more is taken
    assert outcomes[0].accuracy < outcomes[1].accuracy < outcomes[2].accuracy == 100.0
    assert outcomes[0].cost_cores < outcomes[1].cost_cores < outcomes[2].cost_cores


def test_rim_never_changes_its_replicas_and_trades_accuracy_for_load() -> None:
    setting = Setting(RIM, replicas=4)
    planned = Planned(VIDEO, setting)
    assert planned.plan(2.0).accuracy > planned.plan(30.0).accuracy
    counts = {each.replicas for load in (2.0, 10.0, 30.0) for own in planned.plan(load).stages.values() for each in own}
    assert counts == {4}


def test_loki_gives_up_accuracy_only_where_its_cluster_is_too_small() -> None:
    planned = Planned(VIDEO, Setting(LOKI, cost_limit=30.0))
    few, many = planned.plan(2.0), planned.plan(20.0)
    assert few.accuracy == 2.0 > many.accuracy
    assert few.cost < many.cost <= 30.0


def test_a_burst_that_was_foreseen_violates_less_than_one_that_was_not() -> None:
    setting = Setting(FA2_LOW)
    foreseen, unforeseen = (simulate(SUM_QA, setting, burst(foreseen=known), seed=1) for known in (True, False))
    reactive = simulate(SUM_QA, setting, burst(foreseen=True), seed=1, predictive=False)
    assert foreseen.violated == 0 < unforeseen.violated
    assert reactive.violated > 0
    assert foreseen.cost_cores > unforeseen.cost_cores
    assert foreseen.timeline.load_qps.max() == BURST_QPS
    assert foreseen.timeline.load_qps.min() == USUAL_QPS


def test_the_same_seed_gives_the_same_outcome() -> None:
    first, again, other = (
        simulate(VIDEO, Setting(IPA, alpha=4.0), burst(foreseen=False), seed=seed) for seed in (1, 1, 2)
    )
    assert (first.violated, first.cost_cores, first.p99_s) == (again.violated, again.cost_cores, again.p99_s)
    assert first.p99_s != other.p99_s


def test_headroom_is_what_the_load_is_multiplied_by() -> None:
    more, plain = Planned(VIDEO, Setting(FA2_LOW, headroom=2.0)), Planned(VIDEO, Setting(FA2_LOW))
    assert more.plan(20.0).stages == plain.plan(40.0).stages

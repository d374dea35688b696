"""What systems ask of whom, and that they differ in nothing else."""

import numpy as np
import pytest

from benchmarks.cocktail.choosers import DroppingChooser, FixedChooser
from benchmarks.cocktail.member_sets import at_once, everyone, met_share, singles
from benchmarks.cocktail.models import ASKS, MACHINES, MIXES, MODELS
from benchmarks.cocktail.play import met
from benchmarks.cocktail.systems import COCKTAIL, INFAAS, systems
from dispatch.ensemble.member import Constraint

STRICTEST = ASKS[0]


def asked(accuracy: float) -> Constraint:
    return Constraint(1.0, accuracy)


def test_a_packed_batch_takes_as_long_as_one_inference_and_a_larger_machine_packs_more() -> None:
    model = MODELS["InceptionV3"]
    small, large = model.candidate(MACHINES[0]), model.candidate(MACHINES[2])
    assert (small.max_batch, large.max_batch) == (5, 20)
    assert set(large.latency_s[1:]) == {0.089}
    assert model.qps_on("c5.4xlarge-spot") == pytest.approx(20 / 0.089)


def test_single_models_meet_their_constraint_the_cheapest_first() -> None:
    assert [own.members for own in singles(STRICTEST)] == [("NASNetLarge",)]
    assert [own.members[0] for own in singles(ASKS[3])][:2] == ["ResNet50V2", "InceptionV3"]


def test_clipper_asks_as_many_as_the_paper_counts() -> None:
    assert [len(everyone(ask).members) for ask in ASKS[:3]] == [10, 8, 7]  # Table 3
    assert "NASNetLarge" not in everyone(STRICTEST).members


def test_shares_of_mixes_sum_to_one() -> None:
    assert all(sum(mix) == pytest.approx(1.0) for mix in MIXES.values())


def test_a_set_without_its_lost_member_answers() -> None:
    chooser = FixedChooser({0.8: [at_once(["Xception", "InceptionV3"], 0.8)]})
    whole = chooser.choose(asked(0.8), frozenset(["Xception", "InceptionV3", "ResNet50"]), 0.0)
    left = chooser.choose(asked(0.8), frozenset(["InceptionV3", "ResNet50"]), 0.0)
    assert whole.members == ("Xception", "InceptionV3")
    assert left.members == ("InceptionV3",)


def test_the_next_single_model_stands_in_for_a_lost_one() -> None:
    ask = ASKS[3]
    chooser = FixedChooser({ask.accuracy: singles(ask)})
    assert chooser.choose(asked(ask.accuracy), frozenset(["InceptionV3"]), 0.0).members == ("InceptionV3",)


def test_members_are_dropped_one_at_a_time_while_the_accuracy_allows() -> None:
    names = ["Xception", "InceptionV3", "ResNet50"]
    served = frozenset(names)
    chooser = DroppingChooser({0.8: [at_once(names, 0.8)]}, interval_s=30.0)

    def interval(right: bool, until_s: float) -> tuple[str, ...]:
        votes = {"Xception": 1, "InceptionV3": 1, "ResNet50": 0}
        for _ in range(40):
            chooser.on_truth(asked(0.8), 1, 1 if right else 0, votes)
        return chooser.choose(asked(0.8), served, until_s).members

    assert chooser.choose(asked(0.8), served, 0.0).members == tuple(names)
    assert interval(True, 30.0) == ("Xception", "InceptionV3"), "the one that was wrong goes first"
    assert len(interval(True, 60.0)) == 1
    assert len(interval(True, 90.0)) == 1, "somebody must answer"
    assert len(interval(False, 120.0)) == 2
    assert chooser.choose(asked(0.8), served, 150.0).members == chooser.choose(asked(0.8), served, 180.0).members


def test_windows_are_of_requests_with_the_same_constraint() -> None:
    ask = np.tile([0, 4], 300)
    right = np.where(ask == 0, False, True)
    assert np.array_equal(met(right, ask), ask == 4)
    late = np.concatenate([np.zeros(300, dtype=bool), np.ones(300, dtype=bool)])
    reached = met(late, np.full(600, 4))
    assert not reached[: 300 + 148].any()  # 149 of 200 are 74.5%
    assert reached[300 + 148 :].all()


def test_half_of_the_windows_reach_a_target_that_is_the_accuracy() -> None:
    assert met_share(0.8, 0.8) == pytest.approx(0.5, abs=0.04)
    right = np.random.default_rng(0).random(200_000) < 0.82
    sums = np.convolve(right, np.ones(200), "valid") / 200
    assert met_share(0.82, 0.79) == pytest.approx((sums >= 0.79).mean(), abs=0.02)


def test_systems_have_the_same_expectations_of_what_they_ask() -> None:
    chosen = {ask.name: at_once(["Xception", "InceptionV3"], 0.8) for ask in ASKS}
    made = systems(chosen)
    mix = MIXES["strict"]
    assert made[COCKTAIL].expected_shares(mix) == pytest.approx({"Xception": 1.0, "InceptionV3": 1.0})
    assert made[INFAAS].expected_shares(mix)["NASNetLarge"] == pytest.approx(mix[0])


def test_where_nobody_of_a_set_is_left_anybody_answers() -> None:
    ask = ASKS[0]
    chooser = FixedChooser({ask.accuracy: singles(ask)})
    left = frozenset(["MobileNetV2", "Xception"])
    assert chooser.choose(asked(ask.accuracy), left, 0.0).members == ("Xception",)
    assert chooser.choose(Constraint(1.0), left, 0.0).members == ("Xception",)
    dropping = DroppingChooser({ask.accuracy: [everyone(ask)]})
    assert dropping.choose(Constraint(1.0), left, 0.0).members == ("MobileNetV2", "Xception")

"""A whole run with processes that are really started and bound to CPUs; the variants do nothing but take time."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.placement import effect, effect_choices, effect_runs, effect_training
from benchmarks.placement.effect_choices import BY_P95
from benchmarks.placement.effect_figures import MEASURES
from benchmarks.placement.effect_pools import Pools, Query
from catalog.errors import ConfigError
from measuring_scene import ToyPrograms
from predictor.examples import Examples
from predictor.measure.positions import Role
from predictor.predictor import SlowdownPredictor

ROLES = tuple(Role(name, rows) for name, rows in zip("abcdef", (1, 2, 4, 8, 16, 32), strict=True))
TWO_CPUS = len(os.sched_getaffinity(0)) > 1


@pytest.fixture
def programs(tmp_path: Path) -> ToyPrograms:
    return ToyPrograms(tmp_path / "diary")


@pytest.mark.skipif(not TWO_CPUS, reason="two pools need two CPUs")
def test_pools_answer_every_query_on_their_own_cpu(programs: ToyPrograms) -> None:
    with Pools(programs) as pools:
        arrivals_s = (0.0, 0.001, 0.002)
        left = [Query(Role("sleeps", 10), arrivals_s), Query(Role("a", 1), arrivals_s[:1])]
        observed = pools.observe([left, [Query(Role("b", 1), arrivals_s[:2])]])
        nothing = pools.observe([[], [Query(Role("b", 1), (0.0,))]])
    assert [[len(each) for each in own] for own in observed.latencies_s] == [[3, 1], [2]]
    slept_s = observed.latencies_s[0][0]
    assert slept_s[0] >= 0.004
    assert slept_s[2] >= 3 * 0.004 - 0.002  # it waits for the two before it
    assert [len(own) for own in nothing.latencies_s] == [0, 1]
    loads = dict(
        line.removeprefix("load ").split(" ", 1)
        for line in programs.diary.read_text().splitlines()
        if line.startswith("load")
    )
    assert loads == {"sleeps": f"[{pools.cpus[0]}]", "a": f"[{pools.cpus[0]}]", "b": f"[{pools.cpus[1]}]"}


def test_one_cpu_is_too_few(programs: ToyPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3})
    with pytest.raises(ConfigError, match="here is CPU 3 only"):
        Pools(programs)


@pytest.mark.skipif(not TWO_CPUS, reason="two pools need two CPUs")
def test_a_whole_run_measures_every_placement_and_says_who_chose_which(
    programs: ToyPrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SERVICE_S", "ALONE_S", "PAIR_S"):
        monkeypatch.setattr(effect_training, name, 0.1)
    monkeypatch.setattr(effect, "AGAIN_S", 0.0)
    steps: list[str] = []
    found = effect.measure_with(programs, ROLES, {}, 0, steps.append, mixes=2, run_s=0.1)
    assert found["predictor"]["configurations"] == 15
    assert steps[-1].startswith("mix 2 of 2")
    assert set(found["load"]) == set("abcdef")
    assert len(found["mixes"]) == 2
    for mix in found["mixes"]:
        assert len(mix["placements"]) == 3
        assert set(mix["chosen"].values()) <= set(mix["placements"])
        assert len(mix["others_frac"]) == effect_runs.RUNS
        for own in mix["placements"].values():
            assert all(len(own[measure]["runs"]) == effect_runs.RUNS for measure in MEASURES)
    for measure in MEASURES:
        own = found["over_mixes"][measure]
        gain = own["gain"]
        assert gain["least"] <= gain["median"] <= gain["most"]
        assert own["oracle"]["median"] > 0
        least_loaded = found["over_mixes"][measure]["best_least_loaded"]
        alike = [mix["chosen"][BY_P95[measure]] == mix["chosen"][least_loaded] for mix in found["mixes"]]
        assert own["placed_alike"] == sum(alike)


@pytest.mark.skipif(not TWO_CPUS, reason="two pools need two CPUs")
def test_the_predictor_has_not_seen_the_pairs_of_a_mix(programs: ToyPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SERVICE_S", "ALONE_S", "PAIR_S"):
        monkeypatch.setattr(effect_training, name, 0.05)
    utilisation = dict(zip("abcdef", (0.2,) * 6, strict=True))
    with Pools(programs) as pools:
        known = effect_training.learn(pools, ROLES, utilisation, {}, np.random.default_rng(0), lambda step: None)
    seen: list[Examples] = []
    really_fit = effect_choices.fit

    def noted_fit(examples: Examples, *arguments: Any, **more: Any) -> SlowdownPredictor:
        seen.append(examples)
        return really_fit(examples, *arguments, **more)

    monkeypatch.setattr(effect_choices, "fit", noted_fit)
    effect_choices.choices(("a", "c", "d"), known, 0)
    (examples,) = seen
    assert len(examples.configurations) == 12
    assert not any(set(each.variants) <= {"a", "c", "d"} for each in examples.configurations)

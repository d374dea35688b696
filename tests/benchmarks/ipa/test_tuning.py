"""Knobs are set by the promise they keep."""

import numpy as np
import pytest

from benchmarks.ipa.demand import Scene
from benchmarks.ipa.excerpts import Excerpt
from benchmarks.ipa.pipelines import pipelines_of
from benchmarks.ipa.scenario import read_scenario
from benchmarks.ipa.systems import FA2_LOW, RIM, Setting
from benchmarks.ipa.tuning import HIGHEST, least_headroom, least_replicas, tune
from catalog.errors import ConfigError


@pytest.mark.parametrize("enough", [1.01, 1.1, 1.2, 1.43])
def test_the_least_headroom_that_keeps_the_promise_is_found(enough: float) -> None:
    found = least_headroom(Setting(FA2_LOW), lambda own: 0.5 if own.headroom >= enough else 3.0).headroom
    assert enough <= found <= enough + 0.5 / 2**4 + 1e-9


def test_what_is_foreseen_is_planned_for_at_least() -> None:
    assert least_headroom(Setting(FA2_LOW), lambda own: 0.0).headroom == 1.0


def test_where_no_headroom_is_enough_it_is_the_highest() -> None:
    assert least_headroom(Setting(FA2_LOW), lambda own: 3.0).headroom == HIGHEST


@pytest.mark.parametrize("enough", [1, 2, 17, 64])
def test_the_least_replicas_are_found(enough: int) -> None:
    assert least_replicas(Setting(RIM), lambda own: 0.0 if own.replicas >= enough else 9.0).replicas == enough


def test_excerpts_without_any_query_are_refused_with_where_they_are() -> None:
    quiet = Excerpt("bursty", 7200, np.zeros(780, np.int64), 0.01, 1.0, 1.0, 0.0)
    with pytest.raises(ConfigError, match=r"tuned on, from 7200 s of the series on, have no query"):
        tune(pipelines_of(read_scenario(), 1.0)["sum-qa"], {"bursty": Scene(quiet, np.zeros(67))}, 0)

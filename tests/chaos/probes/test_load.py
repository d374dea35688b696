"""A load tells of a fault only where it had queries and went on over the fault."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from chaoslib.exceptions import ActivityFailed

from chaos.actions.load import begin_load
from chaos.probes.load import answered_share, in_time_share, outcome
from chaos.trial.trial import Mark, Trial
from chaos_scene import PlayedSender, bench_of, trial_on


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Trial]:
    with trial_on(bench_of([], tmp_path, PlayedSender(0.01))) as trial:
        yield trial


def killed(trial: Trial, at_s: float, fault: bool = True) -> None:
    """Something that happened so long after the load began."""
    assert trial.load is not None
    trial.marks.append(Mark(trial.load.begin_s + at_s, "worker killed", fault))


def test_a_load_that_goes_on_over_the_fault_has_an_outcome(played: Trial) -> None:
    begin_load(seconds=20.0)
    killed(played, 5.0)
    killed(played, 25.0, fault=False)
    found = outcome()
    assert found["sent"] == found["answered"] > 0
    assert found["recovered_s"] == 0.0


def test_a_load_that_ended_before_a_fault_has_none(played: Trial) -> None:
    begin_load(seconds=4.0)
    killed(played, 1.0)
    killed(played, 5.0)
    with pytest.raises(
        ActivityFailed, match=r"'worker killed' came 5\.0 s after the load began, which ended after 4 s"
    ):
        outcome()
    assert played.outcome is None


def test_a_load_without_queries_has_none(played: Trial) -> None:
    begin_load(seconds=0.0)
    with pytest.raises(ActivityFailed, match="no query was sent in 0 s"):
        outcome()


def test_a_low_load_is_sent_until_there_are_some_queries(played: Trial) -> None:
    played.bench.carried_qps = 0.5
    assert (answered_share(), in_time_share()) == (1.0, 1.0)
    assert played.bench.finish().intended_s.size > 3

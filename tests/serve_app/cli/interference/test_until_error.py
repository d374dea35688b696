"""Rounds of measuring, on variants that only compute: what is measured is real, and what is learned from it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from catalog.errors import ConfigError
from measuring_scene import ToyPrograms, measure_quickly
from predictor.measure.campaign import Campaign, CampaignReport, OnProgress
from predictor.measure.choice import Variants
from predictor.measure.program import MeasuredVariant
from predictor.measure.records import Records, Setting
from predictor.measurements import read_measurements
from predictor.models import gaussian_process_fit
from serve_app.cli.interference import active
from serve_app.cli.interference.active import Stop, measure_until

TO_START_S = 100.0


class SlowToStart(Campaign):
    """Its variants are loaded for longer than a short round lasts."""

    def run(self, wanted: Sequence[Variants], budget_s: float, on_progress: OnProgress) -> CampaignReport:
        return super().run(wanted, budget_s if budget_s > TO_START_S else 0.0, on_progress)


Measure = Callable[..., tuple[CampaignReport, float, list[tuple[int, float]]]]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    measure_quickly(monkeypatch)
    monkeypatch.setattr(active, "PER_ROUND", 2)
    monkeypatch.setattr(gaussian_process_fit, "STEPS", 10)

    def until(
        error: float,
        configurations: int,
        budget_s: float = 1000.0,
        degree: int = 3,
        names: str = "abc",
        kind: type[Campaign] = Campaign,
    ) -> tuple[CampaignReport, float, list[tuple[int, float]]]:
        said: list[tuple[int, float]] = []
        campaign = kind(
            programs=ToyPrograms(tmp_path / "diary"),
            variants={name: MeasuredVariant(name, 1) for name in names},
            records=Records(tmp_path, Setting("here", "toys 1", 1)),
        )
        stop = Stop(error, configurations, budget_s)
        report, reached = measure_until(
            campaign, "here", degree, stop, lambda *_: None, lambda number, each: said.append((number, each))
        )
        return report, reached, said

    return until


def test_it_stops_at_the_error_or_goes_on_from_what_is_there_until_all_is_spent(
    measure: Measure, tmp_path: Path
) -> None:
    report, error, said = measure(error=1e9, configurations=11)
    assert said == [(8, error)]
    assert (report.measured, report.kept) == (8, 0)
    report, error, said = measure(error=0.0, configurations=11)
    assert [number for number, _ in said] == [8, 10, 11]
    assert error == said[-1][1] > 0
    assert (report.measured, report.kept) == (3, 8)
    measured = read_measurements(tmp_path / "measurements.parquet")
    assert len(measured) == len(measured.repeats) == 11, "one was measured twice"


def test_it_stops_when_everything_is_measured(measure: Measure) -> None:
    report, _, said = measure(error=0.0, configurations=100, degree=4, names="ab")
    assert [number for number, _ in said] == [8, 10, 12]  # 3 pairs, 4 triples and 5 of four
    assert report.measured == 12


def test_rounds_too_short_to_measure_anything_get_more_time_and_all_rounds_count(measure: Measure) -> None:
    report, _, said = measure(error=0.0, configurations=100, degree=4, names="ab", kind=SlowToStart)
    assert [number for number, _ in said] == [8, 10, 12]  # a first round of 80 s, later ones of 22 s
    assert (report.measured, report.kept, report.left) == (12, 0, 0)


def test_a_budget_that_ends_too_early_is_said(measure: Measure) -> None:
    with pytest.raises(ConfigError, match=r"configurations within 0.01 s are too few .*; give more with --budget-s"):
        measure(error=0.1, configurations=20, budget_s=0.01)


def test_too_few_configurations_to_learn_from_are_refused_before_anything_is_measured(
    measure: Measure, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="--configurations 7 are too few to learn from; give at least 8"):
        measure(error=0.1, configurations=7)
    assert not (tmp_path / "diary").exists()


def test_of_too_many_sets_candidates_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    every = active._possible("abc", 3, seed=0)
    assert len(set(every)) == 6 + 10
    monkeypatch.setattr(active, "MOST_LISTED", 10)
    monkeypatch.setattr(active, "MOST_COMPARED", 12)
    drawn = active._possible("abc", 3, seed=0)
    assert len(set(drawn)) == 12
    assert set(drawn) < set(every)
    assert drawn != active._possible("abc", 3, seed=1)

from pathlib import Path

import pandas as pd
import pytest

from catalog.errors import ArtifactError
from measuring_scene import ToyPrograms, measure_quickly
from predictor.measure import campaign, co_location
from predictor.measure.campaign import Campaign, CampaignReport
from predictor.measure.choice import Variants
from predictor.measure.co_location import CoLocation
from predictor.measure.positions import Role
from predictor.measure.program import MeasuredVariant
from predictor.measure.records import Records, Setting
from predictor.measurements import read_measurements
from predictor.variant_table import read_variants

HERE = Setting("here", "toys 1", 1)
PAIR, PAIRED, TRIPLE = ("a", "b"), ("a", "a"), ("a", "b", "b")


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    measure_quickly(monkeypatch)


def run(folder: Path, wanted: list[Variants], budget_s: float = 100.0) -> tuple[CampaignReport, list[str]]:
    shown: list[str] = []
    measuring = Campaign(
        programs=ToyPrograms(folder / "diary"),
        variants={name: MeasuredVariant(name, 4, {"arch_nodes": 3.0}) for name in ("a", "b", "fails")},
        records=Records(folder / "out", HERE),
    )
    return measuring.run(wanted, budget_s, lambda what, *_: shown.append(what)), shown


def test_all_that_is_wanted_is_measured_and_recorded_with_the_metrics_of_its_variants(tmp_path: Path) -> None:
    report, shown = run(tmp_path, [PAIR, TRIPLE, PAIR])
    assert (report.measured, report.kept, report.left) == (3, 0, 0)
    assert shown == ["a alone", "b alone", "a + b", "a + b + b", "a + b"]
    measurements = read_measurements(tmp_path / "out" / "measurements.parquet")
    assert [each.configuration.variants for each in measurements] == [PAIR, TRIPLE, PAIR]
    assert len(measurements.repeats) == 2
    assert report.noise is not None
    assert report.spread is not None
    table = read_variants(tmp_path / "out" / "variants.parquet")
    assert set(table.hardware) == {("here", "a"), ("here", "b")}
    assert table.architecture == {"a": {"arch_nodes": 3.0}, "b": {"arch_nodes": 3.0}}


def test_what_was_measured_before_is_kept_and_the_rest_is_measured(tmp_path: Path) -> None:
    run(tmp_path, [PAIR])
    report, shown = run(tmp_path, [PAIR, PAIRED, PAIR])
    assert (report.measured, report.kept, report.left) == (2, 1, 0)
    assert shown == ["a + a", "a + b"]
    report, shown = run(tmp_path, [PAIR, PAIRED, PAIR])
    assert (report.measured, report.kept, report.left) == (0, 3, 0)
    assert shown == []


def test_what_was_disturbed_is_measured_again_after_the_rest_and_replaced(tmp_path: Path) -> None:
    records = Records(tmp_path / "out", HERE)
    for name, others_frac in (("a", 0.0), ("b", 1.0)):
        records.add_metrics(name, {"others_frac": others_frac, "hw_rows": 2.0})
    records.add([Role("a", 2), Role("b", 2)], CoLocation((1.0, 1.0), (7.0, 7.0), (0.1, 0.1), 1.0, 1, 1.0))
    report, shown = run(tmp_path, [PAIR, PAIRED])
    assert shown == ["b alone", "a + a", "a + b"]
    assert (report.measured, report.kept, report.left) == (2, 0, 0)
    again, new = Records(tmp_path / "out", HERE).others_frac().values()
    assert {again[0], new[0]} == {PAIR, PAIRED}
    assert max(again[1], new[1]) < 1
    measurements = read_measurements(tmp_path / "out" / "measurements.parquet")
    assert {each.configuration.variants for each in measurements} == {PAIR, PAIRED}
    assert measurements.slowdown.max() != pytest.approx(7.0)


def test_nothing_begins_after_the_budget_and_it_is_said_how_much_is_left(tmp_path: Path) -> None:
    report, _ = run(tmp_path, [PAIR, TRIPLE], budget_s=0.0)
    assert report == CampaignReport(0, 0, 2, 0, report.seconds, None, None)


def test_a_variant_that_fails_leaves_what_was_measured_before_it(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="does so in its second batch"):
        run(tmp_path, [PAIR, ("a", "fails")])
    run(tmp_path, [PAIR])
    with pytest.raises(ArtifactError, match="does so in its second batch"):
        run(tmp_path, [PAIR, ("a", "fails")])
    assert len(read_measurements(tmp_path / "out" / "measurements.parquet")) == 1


def test_what_is_known_the_least_gets_the_time_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, [("b", "b"), PAIRED])  # the metrics of both are known then
    monkeypatch.setattr(co_location, "TARGET_ERROR", 1e-9)
    monkeypatch.setattr(co_location, "LEAST_CYCLES", 3)
    monkeypatch.setattr(campaign, "FIRST_FRAC", 0.02)
    _, shown = run(tmp_path, [PAIR, PAIRED, TRIPLE], budget_s=15.0)
    configurations = [each for each in shown if "+" in each]
    assert configurations[:2] == ["a + b", "a + b + b"]
    assert len(configurations) > 2
    rows = pd.read_parquet(tmp_path / "out" / "measurements.parquet")
    assert sorted(rows.groupby("configuration").size()) == [2, 2, 2, 3], "each is recorded once"
    assert rows.cycles.max() > co_location.LEAST_CYCLES

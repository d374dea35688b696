"""The larger set of variants, and the shape of the figures."""

import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from benchmarks.policy_generation import __main__ as policy_generation
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant, write_profiles
from dispatch.selection.policy import Candidate

LOW = Candidate("low", 0.700, (0.0, 0.010, 0.020))
HIGH = Candidate("high", 0.712, (0.0, 0.034, 0.068))
TOP = Candidate("top", 0.717, (0.0, 0.050, 0.100))


def test_variants_are_interpolated_every_half_point_between_neighbours() -> None:
    made = list(policy_generation.interpolated((LOW, HIGH, TOP)))
    assert [c.variant for c in made] == ["low", "low+1", "low+2", "high", "top"]
    assert [c.accuracy for c in made] == pytest.approx([0.700, 0.705, 0.710, 0.712, 0.717])
    assert made[1].latency_s == pytest.approx((0.0, 0.020, 0.040))
    assert made[2].latency_s == pytest.approx((0.0, 0.030, 0.060))


def test_a_missing_profile_file_is_refused_with_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_generation, "CASES", {})
    monkeypatch.setattr(policy_generation, "PROFILES_FILE", tmp_path / "none.csv")
    monkeypatch.setattr(sys, "argv", ["policy_generation", "--json"])
    with pytest.raises(SystemExit, match=r"no profiles at .*none\.csv; name the file with --profiles"):
        policy_generation.main()


@pytest.mark.parametrize("option", ["--repeats", "--slo-ms", "--load-per-worker-qps"])
def test_what_must_be_above_0_is_refused_in_words(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["policy_generation", option, "0"])
    with pytest.raises(SystemExit):
        policy_generation.main()
    assert f"argument {option}: '0' is no number above 0" in capsys.readouterr().err


def test_every_case_has_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def variant(accuracy_pct: float, base_ms: float) -> ProfiledVariant:
        by_batch = {n: BatchLatency(9, *[base_ms * n] * 6) for n in (1, 2, 3)}
        return ProfiledVariant(accuracy_pct, LatencyProfile("any", by_batch))

    file = tmp_path / "texts.csv"
    write_profiles(file, {"a": variant(70.0, 10.0), "b": variant(71.0, 40.0)})
    cases = {name: replace(case, workers=2) for name, case in policy_generation.CASES.items()}
    monkeypatch.setattr(policy_generation, "CASES", cases)
    monkeypatch.setattr(policy_generation, "SHARES_PCT", (5, 130))
    arguments = ["--profiles", str(file), "--slo-ms", "50", "--load-per-worker-qps", "10", "--repeats", "1", "--json"]
    monkeypatch.setattr(sys, "argv", ["policy_generation", *arguments])
    policy_generation.main()
    body = orjson.loads(capsys.readouterr().out)
    assert set(body["cases"]) == set(policy_generation.CASES)
    for figures in body["cases"].values():
        assert figures["seconds"] > 0.0
        assert 60.0 < figures["expected_accuracy_pct"] <= 71.0
        assert 0.0 <= figures["expected_violation_pct"] < 5.0
    assert set(body["by_load"]) == set(policy_generation.SERVICES)
    for figures in body["by_load"].values():
        assert figures["settled"]
        assert list(figures["seconds"]) == ["5%", "130%"]

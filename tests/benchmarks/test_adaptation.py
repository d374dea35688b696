"""The command says what is wrong before it starts anything."""

import pytest

from benchmarks.adaptation import __main__ as adaptation


@pytest.mark.parametrize("given", [["--rounds", "0"], ["--rounds", "two"], ["--quick"]])
def test_arguments_that_make_no_sense_are_refused(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["adaptation", *given])
    with pytest.raises(SystemExit) as refused:
        adaptation.main()
    assert refused.value.code == 2


def test_every_goal_is_shown_beside_its_figure(capsys: pytest.CaptureFixture[str]) -> None:
    phase = {"rate_qps": 10.0, "violation_pct": 0.0, "accuracy_pct": 97.7}
    adaptation._print(
        dict.fromkeys(adaptation.GOALS, 1.5)
        | {
            "accuracy_recovered_s": None,
            "step": {"phases": {"base": phase}},
            "baseline": {"phases": {"base": phase | {"violation_pct": 12.34}}},
            "switch": {"switches": 4, "slo_ms": [150.0, None], "endpoint": "digits"},
            "rescale": {"seconds_to_workers": {"4": 3.0, "1": None}, "queries": 99},
            "status": {"status_unhealthy_s": 0.0, "status_deploying_s": 2.0},
            "total_s": 300.0,
        }
    )
    shown = capsys.readouterr().out
    lines = {name: next(line for line in shown.splitlines() if name in line) for name in adaptation.GOALS}
    assert all(f"<= {most:g}" in lines[name] for name, (_, most) in adaptation.GOALS.items())
    assert "none" in lines["accuracy_recovered_s"]
    assert "1.50 s" in lines["plan_in_force_s"]
    assert "12.34" in shown
    assert "1 after none" in shown

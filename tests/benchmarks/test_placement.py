"""The placement benchmark on a few machines."""

import json
import sys

import pytest

from benchmarks.placement import scale
from benchmarks.placement.__main__ import main
from predictor.kinds import FOREST


def test_every_decision_and_update_is_timed() -> None:
    found = scale.measure(machines=14, variants=12, placements=8, kind=FOREST, seed=0)
    for name in ("place_ms", "two_choices_ms", "add_ms", "remove_ms"):
        each = found[name]
        assert 0 < each["median"] <= each["p95"] <= each["max"]
        assert 0 <= each["cpu_median"] <= each["cpu_p95"]
    assert found["goals"] == {"place_ms": 1.0, "update_ms": 50.0}
    assert set(found["goals_met"]) == {"place_ms", "update_ms"}


def test_the_last_line_is_one_json_object(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["placement", "--json", "--machines", "7", "--variants", "6", "--placements", "4", "--only", "scale"]
    monkeypatch.setattr(sys, "argv", arguments)
    main()
    body = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (body["scale"]["machines"], body["scale"]["predictor"]) == (7, "forest")
    assert isinstance(body["goals_met"], bool)
    assert "scale.place_ms.median" in body["multiples"]


def test_so_few_placements_that_nothing_is_removed_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["placement", "--machines", "7", "--variants", "6", "--placements", "3"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "--placements is 3, and a removal is timed after every 4; give at least 4" in capsys.readouterr().err

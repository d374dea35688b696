import json
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from autoscaler.cluster.plan_difference import difference
from autoscaler.cluster.plan_record import to_record
from plan_scene import body, decision, plan_of
from serve_app.cli.main import app


def accord(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["plan", *arguments])


def words(output: str) -> str:
    """What was printed, without the line breaks that the width of the terminal makes."""
    return " ".join(output.split())


def test_a_person_sees_who_holds_what_and_why_and_what_it_costs(server: Any) -> None:
    server.answers["plan"] = [(200, body())]
    result = accord("show", "--url", server.url)
    assert result.exit_code == 0
    shown = words(result.stdout)
    for part in (
        "Plan 7 of proteus",
        "Made because: load of digits is above what the plan has room for",
        "in force on all workers 3.25 s later",
        "Solved in 0.21 s: optimal, gap 0.05%",
        "│ digits │ 100 ms │ 240.5 │ 240.5 │ 360.8 │ 0.0% │ 91.25% │",
        "│ plates │ 250 ms │ 20.0 │ 16.0 │ 16.0 │ 20.0% │ 80.00% │",
        "│ all │ │ 260.5 │ 256.5 │ 376.8 │ 1.5% │",
        "│ k3j2h1g0 │ cpu │ r0r0r0r0 │ digits-cnn-s │ digits 25.0% │",
        "plates-tiny",
        "│ cpu │ cpu │ 2 │ 2 │ 1 to 4 │ 0.35 │ 0.7 │",
        "3.2 an hour in all",
        "one more would bring about 1.2 points more",
        "│ cpu │ digits-cnn-s │ 1.23 │ 812 │",
        "cpu 3.1 ms, gpu 4.0 ms",
        "│ a1b2c3d4 │ digits-vit │ out of memory │ - │",
        "│ pool gpu │ digits-vit │ out of memory │ 2026-03-01",
        "│ w2 │ digits-mlp │ a checksum │ 2026-03-01",
    ):
        assert part in shown
    assert "Under way" not in shown


def with_fallbacks() -> dict[str, Any]:
    shown = body()
    shown["decision"]["plan"] |= {
        "fallback": {"k3j2h1g0": ["digits-mlp", "digits-cnn-xs"]},
        "burst_qps": {"digits": 1234.5, "plates": 16.0},
    }
    return shown


def test_a_person_sees_fallback_variants_and_what_they_bear_in_bursts(server: Any) -> None:
    server.answers["plan"] = [(200, with_fallbacks())]
    shown = accord("show", "--url", server.url).stdout
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80
    assert "│ digits │ 100 ms │ 240.5 │ 240.5 │ 360.8 │ 1234.5 │ 0.0% │ 91.25% │" in words(shown)
    assert "or digits-mlp" in words(shown)
    assert "or digits-cnn-xs" in words(shown)


def test_every_line_fits_a_terminal_of_eighty_columns(server: Any) -> None:
    server.answers["plan"] = [(200, body())]
    lines = accord("show", "--url", server.url).stdout.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert not any("…" in line for line in lines)


FORECASTS = {
    "digits": {
        "model": "deepar",
        "why": None,
        "trained_until": "2026-03-01T10:00:00.000+00:00",
        "scores": {"pinball_qps": 2.1},
        "horizon_s": 20,
        "quantile": 0.9,
        "forecast_qps": 312.34,
        "training": {"at": "2026-03-02T10:00:00+00:00", "model": "deepar", "why": "the new model was better: so"},
    },
    "plates": {
        "model": "moving_maximum",
        "why": "no model was trained yet: 3 h of history, 23 h are needed",
        "trained_until": None,
        "scores": {},
        "horizon_s": 20,
        "quantile": 0.9,
        "forecast_qps": None,
        "training": None,
    },
}


def test_a_person_sees_who_forecasts_the_load_and_why_nobody_does(server: Any) -> None:
    server.answers["plan"] = [(200, body() | {"forecast": FORECASTS})]
    result = accord("show", "--url", server.url)
    shown = words(result.stdout)
    for part in (
        "│ digits │ deepar │ 20 s │ 0.9 │ 312.3 │ 2026-03-01",
        "│ plates │ moving_maximum │ 20 s │ 0.9 │ - │ - │",
        "- plates: no model was trained yet: 3 h of history, 23 h are needed",
        "deepar): the new model was better: so",
    ):
        assert part in shown
    assert max(len(line.rstrip()) for line in result.stdout.splitlines()) <= 80
    server.answers["plan"] = [(200, body())]
    assert "Forecasts" not in accord("show", "--url", server.url).stdout


def test_a_worker_that_is_slow_alone_is_named(server: Any) -> None:
    workers = {"w1": 1.0, "w2": 1.3, "hot": 2.9}
    correction = {"pool": "cpu", "variant": "digits-mlp", "factor": 1.2, "batches": 900.0, "workers": workers}
    server.answers["plan"] = [(200, body() | {"corrections": [correction]})]
    shown = words(accord("show", "--url", server.url).stdout)
    assert "Worker hot takes 2.90 times the profile of digits-mlp, its pool 1.20" in shown
    assert "Worker w2" not in shown


def test_before_the_first_plan_is_in_force_a_person_sees_what_is_under_way(server: Any) -> None:
    loading = decision(7, state="loading", loading={"k3j2h1g0": ["digits-cnn-l"]}, failed={})
    server.answers["plan"] = [(200, body() | {"decision": None, "under_way": loading})]
    shown = words(accord("show", "--url", server.url).stdout)
    assert "No plan is in force yet." in shown
    assert "Plan 7 is loading" in shown
    assert "k3j2h1g0 loads digits-cnn-l" in shown


def test_the_accuracy_of_all_is_unknown_where_that_of_one_is(server: Any) -> None:
    record = to_record(plan_of(7))
    del record["accuracy"]["plates"]
    server.answers["plan"] = [(200, body() | {"decision": decision(7, plan=record)})]
    assert "│ all │ │ 260.5 │ 256.5 │ 376.8 │ 1.5% │ - │" in words(accord("show", "--url", server.url).stdout)


def test_json_of_the_plan_is_the_answer_of_the_server(server: Any) -> None:
    server.answers["plan"] = [(200, body())]
    assert json.loads(accord("show", "--url", server.url, "--json").stdout) == body()


def test_a_controller_that_is_away_is_told_in_the_words_of_the_server(server: Any) -> None:
    server.answers["plan"] = [(503, {"error": "the controller did not answer", "reason": "NoController"})]
    result = accord("show", "--url", server.url, "--json")
    assert result.exit_code == 1
    assert "503: the controller did not answer" in json.loads(result.stdout)["error"]


DECISIONS = [
    decision(6) | {"version": 5, "plan": None, "state": "given up", "why_not": "no worker was there"},
    decision(6),
    decision(7),
    decision(8, state="loading"),
]


@pytest.mark.parametrize(
    ("arguments", "versions"),
    [
        ((), (6, 7)),
        (("--to", "8"), (7, 8)),
        (("--from", "6"), (6, 7)),
        (("--from", "8", "--to", "6"), (8, 6)),
    ],
)
def test_the_plans_that_are_meant_are_compared(
    server: Any, arguments: tuple[str, ...], versions: tuple[int, int]
) -> None:
    server.answers["plans"] = [(200, {"plans": DECISIONS})]
    told = json.loads(accord("diff", "--url", server.url, *arguments, "--json").stdout)
    changed = difference(plan_of(versions[0]), plan_of(versions[1]))
    assert (told["from"], told["to"]) == versions
    assert told["difference"] == json.loads(json.dumps(changed.to_record()))
    assert told["lines"] == list(changed.lines())
    assert told["lines"]


def test_a_person_reads_the_difference_in_sentences(server: Any) -> None:
    server.answers["plans"] = [(200, {"plans": DECISIONS})]
    shown = words(accord("diff", "--url", server.url).stdout)
    assert "From plan 6 to plan 7" in shown
    for line in difference(plan_of(6), plan_of(7)).lines():
        assert line in shown


def test_plans_that_are_the_same_are_said_to_be(server: Any) -> None:
    server.answers["plans"] = [(200, {"plans": DECISIONS})]
    assert "Nothing differs." in accord("diff", "--url", server.url, "--from", "7", "--to", "7").stdout


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("--to", "99"), 2, "--to 99: the server remembers no such version; it has 6, 7, 8"),
        (("--from", "5"), 2, "--from 5: that decision has no plan, it is given up, because no worker was there"),
        (("--to", "6"), 1, "no plan came into force before version 6"),
    ],
)
def test_versions_that_cannot_be_compared_are_refused(
    server: Any, arguments: tuple[str, ...], exit_code: int, message: str
) -> None:
    server.answers["plans"] = [(200, {"plans": DECISIONS})]
    result = accord("diff", "--url", server.url, *arguments)
    assert result.exit_code == exit_code
    assert message in result.stderr


def test_without_any_plan_there_is_nothing_to_compare(server: Any) -> None:
    server.answers["plans"] = [(200, {"plans": DECISIONS[:1]})]
    result = accord("diff", "--url", server.url)
    assert result.exit_code == 1
    assert "no plan has come into force yet" in result.stderr


def test_a_simulation_shows_the_plan_and_what_differs_from_the_one_in_force(server: Any) -> None:
    server.answers["plan/simulate"] = [(200, {"plan": to_record(plan_of(8)), "now": to_record(plan_of(7))})]
    server.answers["plan"] = [(200, body())]
    result = accord("simulate", "--url", server.url, "--load", "digits=400", "--load", "plates=2e1")
    assert result.exit_code == 0
    assert server.posted == [("plan/simulate", {"load_qps": {"digits": 400.0, "plates": 20.0}})]
    shown = words(result.stdout)
    for part in (
        "nothing is changed",
        "│ digits │ 100 ms │ 400.0 │",
        "│ cpu+1 │ cpu │ to come │ digits-cnn-s │ - │",
        "│ cpu │ cpu │ 2 │ 3 │ 1 to 4 │",
        "3.55 an hour in all",
        *difference(plan_of(7), plan_of(8)).lines(),
    ):
        assert part in shown


def test_a_simulation_before_the_first_plan_differs_from_nothing(server: Any) -> None:
    server.answers["plan/simulate"] = [(200, {"plan": to_record(plan_of(8)), "now": None})] * 2
    server.answers["plan"] = [(200, body() | {"decision": None})]
    assert accord("simulate", "--url", server.url, "--load", "digits=400").exit_code == 0
    told = json.loads(accord("simulate", "--url", server.url, "--load", "digits=400", "--json").stdout)
    assert told == {"plan": to_record(plan_of(8)), "now": None, "difference": None}


def test_a_planner_for_no_load_is_said_to_be_one_and_what_it_serves_is_left_open(server: Any) -> None:
    plan = to_record(replace(plan_of(7), served_qps={}, capacity_qps={}, accuracy={}, shares={}))
    shown_body = body() | {"planner": "everywhere", "decision": decision(7, plan=plan)}
    server.answers["plan"] = [(200, shown_body)] * 2
    server.answers["plan/simulate"] = [(200, {"plan": plan, "now": plan})] * 2
    left_open = ("│ digits │ 100 ms │ 240.5 │ - │ - │ - │ - │", "│ all │ │ 260.5 │ - │ - │ - │ - │")
    shown = words(accord("show", "--url", server.url).stdout)
    simulated = words(accord("simulate", "--url", server.url, "--load", "digits=1e6").stdout)
    assert all(part in shown and part in simulated for part in left_open)
    assert "Planner everywhere plans for no load" in simulated
    assert "Planners that go by the load: proteus, ipa, cocktail (controller.planner)" in simulated
    told = json.loads(accord("simulate", "--url", server.url, "--load", "digits=1e6", "--json").stdout)
    assert (told["plan"]["served_qps"], told["plan"]["capacity_qps"]) == ({}, {})


@pytest.mark.parametrize(
    ("loads", "message"),
    [
        ((), "give at least one, as in --load digits=200"),
        (("digits",), "--load 'digits'; write it as NAME=QPS"),
        (("=5",), "--load '=5'; write it as NAME=QPS"),
        (("digits=fast",), "'fast' is no load"),
        (("digits=-1",), "'-1' is no load"),
        (("digits=inf",), "'inf' is no load"),
        (("digits=1", "digits=2"), "--load 'digits' is given twice, as 1 and 2"),
    ],
)
def test_loads_that_are_none_exit_with_two(server: Any, loads: tuple[str, ...], message: str) -> None:
    options = [part for load in loads for part in ("--load", load)]
    result = accord("simulate", "--url", server.url, *options)
    assert result.exit_code == 2
    assert message in words(result.stderr)
    assert server.posted == []


def test_an_endpoint_that_is_not_there_is_refused_in_the_words_of_the_server(server: Any) -> None:
    server.answers["plan/simulate"] = [(404, {"error": "no endpoint 'x'; endpoints here: digits"})]
    result = accord("simulate", "--url", server.url, "--load", "x=1")
    assert result.exit_code == 1
    assert "no endpoint 'x'; endpoints here: digits" in result.stderr

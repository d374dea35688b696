"""Dashboard, alerts and documentation ask for what there is, in PromQL that parses."""

import re

import promql_parser
import pytest
from monitoring_scene import SERVE_TAGS, alerts, dashboard, exported_metrics, expressions, page
from promql_parser import AggregateExpr, MatrixSelector, VectorSelector

METRIC = re.compile(r"ray_accord_[a-z_]+[a-z]")


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> dict[str, frozenset[str]]:
    return exported_metrics(monkeypatch)


def selectors(expression: promql_parser.Expr) -> list[VectorSelector]:
    found: list[VectorSelector] = []

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, MatrixSelector):
            found.append(node.vector_selector)
        elif isinstance(node, VectorSelector):
            found.append(node)

    promql_parser.walk(expression, visit)
    return found


def aggregations(expression: promql_parser.Expr) -> list[AggregateExpr]:
    found: list[AggregateExpr] = []
    promql_parser.walk(expression, lambda node: found.append(node) if isinstance(node, AggregateExpr) else None)
    return found


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_an_expression_asks_for_metrics_by_tags_that_they_have(
    exported: dict[str, frozenset[str]], expression: str
) -> None:
    parsed = promql_parser.parse(expression)
    asked = selectors(parsed)
    assert asked
    for selector in asked:
        assert selector.name in exported, f"no metric is called {selector.name}"
        assert {matcher.name for matcher in selector.matchers.matchers} <= exported[selector.name]
    for aggregation in aggregations(parsed):
        for selector in selectors(aggregation):
            assert selector.name is not None
            assert set(aggregation.modifier.labels) <= exported[selector.name], str(aggregation)


def test_every_metric_is_on_the_pages_and_no_other(exported: dict[str, frozenset[str]]) -> None:
    promises = re.findall(r"`(accord_[a-z_]+)`", page("guarantees.md"))
    named = {*METRIC.findall(page("monitoring.md")), *(f"ray_{name}" for name in promises)}
    assert named - {"ray_accord_observed"} == exported.keys()


def test_panels_say_what_they_show_and_lie_beside_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))
    for panel in dashboard()["panels"]:
        if panel["type"] != "row":
            assert panel["title"]
            assert panel["description"].endswith(".")
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert all(x < 24 for x, _ in cells)
        taken |= cells


def test_every_alert_says_what_is_wrong_and_is_on_the_page() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert names == re.findall(r"^\| `(Accord\w+)` \|", page("monitoring.md"), re.MULTILINE)
    for rule in alerts():
        assert rule["labels"]["severity"] in ("critical", "warning")
        told = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        kept = {label for each in aggregations(promql_parser.parse(rule["expr"])) for label in each.modifier.labels}
        assert told <= (kept or SERVE_TAGS), rule["alert"]


def test_a_pool_that_its_plan_wants_empty_has_no_alert() -> None:
    [rule] = [rule for rule in alerts() if rule["alert"] == "AccordNoWorker"]
    wanted = "max by (application, pool) (ray_accord_pool_workers_wanted) > 0"
    parsed = promql_parser.parse(rule["expr"])
    assert isinstance(parsed, promql_parser.BinaryExpr)
    assert str(parsed.op) == "and"
    assert parsed.rhs.prettify() == promql_parser.parse(wanted).prettify()


def test_an_alert_waits_before_it_fires_also_where_its_series_has_just_begun() -> None:
    """A range over a young series holds the few samples that there are."""
    for rule in alerts():
        assert "for" in rule, rule["alert"]

"""An evaluation as one HTML page with its pictures in it, and as JSON."""

import base64
import json
from html import escape
from importlib.util import find_spec
from pathlib import Path

from catalog.extras import TO_INSTALL
from serve_app.cli.cells import percent
from serve_app.cli.evaluate.figures import Evaluated

STYLE = (
    "body{font:14px sans-serif;color:#222;margin:2em;max-width:70em}table{border-collapse:collapse;margin:1em 0}"
    "td,th{border:1px solid #ddd;padding:.25em .6em;text-align:right}td:first-child,th:first-child{text-align:left}"
    "img{max-width:100%}"
)


def write_report(found: Evaluated, out: Path) -> Path:
    """Write ``report.html``, ``evaluation.json`` and, with matplotlib, the pictures; gives the page's path."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "evaluation.json").write_text(json.dumps(found.to_record(), indent=1), encoding="utf-8")
    page = out / "report.html"
    page.write_text(_page(found, _pictures(found, out)), encoding="utf-8")
    return page


def _pictures(found: Evaluated, out: Path) -> list[Path]:
    if find_spec("matplotlib") is None:
        return []
    from serve_app.cli.evaluate.pictures import draw_accuracy, draw_classes  # a plain installation draws nothing

    drawn = [out / "accuracy.png"]
    draw_accuracy(found, drawn[0])
    if found.of_classes:
        drawn.append(out / "classes.png")
        draw_classes(found, drawn[1])
    return drawn


def _page(found: Evaluated, pictures: list[Path]) -> str:
    title = f"{found.metric} of task {found.task} on {len(found.labels)} examples of {found.data}"
    images = [
        f'<img alt="{escape(each.stem)}" src="data:image/png;base64,{base64.b64encode(each.read_bytes()).decode()}">'
        for each in pictures
    ] or [f"<p>No pictures: matplotlib is not installed ({escape(TO_INSTALL.format('plots'))}).</p>"]
    parts = [f"<h1>{escape(title)}</h1>", _variants(found), *images]
    if found.of_classes:
        parts += ["<h2>Right together</h2>", _together(found)]
        parts += [_classes(found, name) for name in found.variants]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style>\n{body}\n</html>\n"
    )


def _variants(found: Evaluated) -> str:
    rows = [
        [
            name,
            percent(each.score.value, 2),
            f"{percent(each.score.low, 2)} to {percent(each.score.high, 2)}",
            f"{each.latency_ms:.3f}",
        ]
        for name, each in found.variants.items()
    ]
    return _table(["variant", found.metric, "95% interval", "a row, ms"], rows)


def _together(found: Evaluated) -> str:
    """For each pair the share of examples that both get right."""
    shares = found.to_record()["together"]
    names = list(found.variants)
    rows = [
        [one, *(percent(shares[one][other]["both_right"], 1) if one != other else "" for other in names)]
        for one in names
    ]
    return _table(["both right", *names], rows)


def _classes(found: Evaluated, variant: str) -> str:
    rows = [
        [name, *(percent(each[key]) for key in ("precision", "recall", "f1")), str(int(each["examples"]))]
        for name, each in found.classes(variant).items()
    ]
    return f"<h2>{escape(variant)}</h2>" + _table(["class", "precision", "recall", "F1", "examples"], rows)


def _table(headings: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in headings)
    lines = ["".join(f"<td>{escape(each)}</td>" for each in row) for row in rows]
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"

"""The results of an experiment in a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from chaos.report.journal import Journal
from chaos.report.picture import save_picture
from chaos.report.text import markdown

JOURNAL, REPORT, PICTURE = "journal.json", "report.md", "picture.png"


def write_results(journal: Mapping[str, Any], folder: str | Path) -> Path:
    """Write journal, report and picture; gives the folder, which is made."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    (target / JOURNAL).write_bytes(orjson.dumps(journal, default=str, option=orjson.OPT_INDENT_2))
    return write_report(target)


def write_report(folder: Path) -> Path:
    """Write report and picture of the journal in a folder anew. Raises `ConfigError` where there is none."""
    journal = Journal.read(folder)
    figures = journal.figures
    if figures is not None:
        save_picture(folder / PICTURE, journal.title, figures)
    (folder / REPORT).write_text(markdown(journal, PICTURE if figures is not None else None), encoding="utf-8")
    return folder

"""The results of an experiment in a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from catalog.errors import ConfigError
from chaos.report.journal import Journal
from chaos.report.picture import save_picture
from chaos.report.text import markdown

JOURNAL, REPORT, PICTURE = "journal.json", "report.md", "picture.png"


def write_results(journal: Mapping[str, Any], folder: str | Path) -> Path:
    """Write journal, report and picture; gives the folder, which is made."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    partial = target / f"{JOURNAL}.partial"
    partial.write_bytes(Journal.of(journal).as_json())
    partial.replace(target / JOURNAL)
    return write_report(target)


def emptied(folder: Path) -> None:
    """Make a folder for results, and remove those of an earlier run. Raises `ConfigError` where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (JOURNAL, REPORT, PICTURE):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write results to {folder}: {error.strerror}; give another folder") from error


def write_report(folder: Path) -> Path:
    """Write report and picture of the journal in a folder anew. Raises `ConfigError` where there is none."""
    journal = Journal.read(folder)
    figures = journal.figures
    if figures is not None:
        save_picture(folder / PICTURE, journal.title, figures)
    (folder / REPORT).write_text(markdown(journal, PICTURE if figures is not None else None), encoding="utf-8")
    return folder

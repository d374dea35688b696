"""``--plot`` of commands that draw."""

from pathlib import Path

from catalog.errors import ConfigError
from catalog.extras import require

SUFFIXES = (".png", ".svg", ".pdf")


def check_plot(plot: Path | None) -> None:
    """Raise `ConfigError` where a picture cannot be drawn there, before there is anything to draw; None is fine."""
    if plot is None:
        return
    require("plots", "--plot")
    if plot.suffix not in SUFFIXES:
        raise ConfigError(f"--plot {plot}; give a file that ends in {', '.join(SUFFIXES)}")
    if not plot.parent.is_dir():
        raise ConfigError(f"--plot {plot}: there is no folder {plot.parent}; make it, or give another path")

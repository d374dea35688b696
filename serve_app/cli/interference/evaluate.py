"""``accord interference evaluate``: how well a predictor does on measurements."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from catalog.errors import ConfigError
from catalog.extras import require
from predictor.examples import Examples, examples_of
from predictor.measurements import read_measurements
from predictor.model_card import ModelCard
from predictor.scores import mean_absolute_error, mean_predictor_error, repeat_noise
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.interference.data import MeasurementsOption
from serve_app.cli.options import AsJson
from serve_app.cli.plots import check_plot


def evaluate(
    model: Annotated[list[Path], typer.Option(help="A file of `accord interference train`, several to compare.")],
    measurements: MeasurementsOption,
    plot: Annotated[Path | None, typer.Option(help="Also draw predicted against measured: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Predict every measured configuration, and compare; what a predictor learned from flatters it."""
    with exit_codes(as_json):
        require("interference", "`accord interference evaluate`")
        check_plot(plot)
        from predictor.model_file import load  # with scikit-learn, which other commands do not need

        models = {str(file): load(file) for file in model}
        read = read_measurements(measurements)
        truth = examples_of(read)
        errors = {name: mean_absolute_error(each.predictor, truth) for name, each in models.items()}
        if plot is not None:
            from predictor.plot import save_predictions

            panels = {
                title: (truth, models[name].predictor.predict(truth.configurations), errors[name])
                for name, title in _titles(models)
            }
            try:
                save_predictions(plot, panels)
            except OSError as error:
                raise ConfigError(f"cannot write --plot {plot}: {error.strerror}; give another path") from error
        noise, spread = repeat_noise(read), float(truth.slowdown.std())
        if as_json:
            print_json(
                {
                    "models": [
                        {
                            "file": name,
                            "kind": each.card.kind,
                            "mae": errors[name],
                            "unknown_machines": _unknown(each.card, truth),
                        }
                        for name, each in models.items()
                    ],
                    "noise_mae": noise,
                    "mean_mae": mean_predictor_error(truth, truth),
                    "spread": spread,
                    "configurations": len(truth.configurations),
                    "plot": None if plot is None else str(plot),
                }
            )
        else:
            OUT.print(_table({name: each.card for name, each in models.items()}, errors, truth, noise, spread))
            if plot is not None:
                OUT.print(f"Drawn in {plot}", highlight=False, soft_wrap=True)


def _titles(models: Iterable[str]) -> list[tuple[str, str]]:
    """Each path with the name of the file, or, where two have the same name, with itself."""
    count = Counter(Path(name).name for name in models)
    return [(name, Path(name).name if count[Path(name).name] == 1 else name) for name in models]


def _unknown(card: ModelCard, truth: Examples) -> list[str]:
    return sorted({each.machine for each in truth.configurations} - set(card.machines))


def _table(
    cards: dict[str, ModelCard], errors: dict[str, float], truth: Examples, noise: float | None, spread: float
) -> Table:
    table = Table(title=f"{len(truth.configurations)} configurations, slowdowns spread by {spread:.4f}")
    for name in ("predictor", "kind", "mean absolute error", "machine types it does not know"):
        table.add_column(name)
    for name, card in cards.items():
        table.add_row(name, card.kind, f"{errors[name]:.4f}", ", ".join(_unknown(card, truth)) or "-")
    table.add_row("the mean of all", "", f"{mean_predictor_error(truth, truth):.4f}", "")
    if noise is not None:
        table.add_row("another measurement", "", f"{noise:.4f}", "")
    return table

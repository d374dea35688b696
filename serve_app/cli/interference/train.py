"""``accord interference train``: learn a predictor of slowdown from measurements."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from catalog.errors import ConfigError
from catalog.extras import require
from predictor.kinds import KINDS
from predictor.model_card import SUFFIX, ModelCard
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.interference.data import Data, MeasurementsOption, VariantsOption, read_data
from serve_app.cli.options import AsJson
from serve_app.cli.profile import progress_bar


def train(
    measurements: MeasurementsOption,
    variants: VariantsOption,
    out: Annotated[Path, typer.Option(help=f"Where the predictor goes, a {SUFFIX} file.")],
    kind: Annotated[
        str | None, typer.Option(help=f"{', '.join(KINDS)}; default: the best in cross-validation.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same predictor.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Learn from all measurements, and write the predictor to a file that `controller.interference.model` takes."""
    with exit_codes(as_json):
        require("interference", "`accord interference train`")
        if out.suffix != SUFFIX:
            raise ConfigError(f"--out {out}; give a file that ends in {SUFFIX}")
        if kind is not None and kind not in KINDS:
            raise ConfigError(f"--kind {kind!r} is unknown; use one of {', '.join(KINDS)}")
        from predictor.model_file import Model  # with scikit-learn, which other commands do not need
        from predictor.training import train as train_predictor

        data = read_data(measurements, variants)
        with progress_bar("Training") as update:
            trained = train_predictor(
                data.measurements,
                data.table,
                kinds=KINDS if kind is None else (kind,),
                seed=seed,
                on_progress=lambda share: update("Training", share),
            )
        card = card_of(data, trained.kind, dict(trained.errors))
        Model(trained.predictor, card).save(out)  # type: ignore[arg-type]  # unified predictors only
        if as_json:
            print_json(record(card) | {"out": str(out)})
        else:
            _print(card, out)


def card_of(data: Data, kind: str, errors: dict[str, float]) -> ModelCard:
    """What the file says of its predictor."""
    configurations = data.measurements.repeats
    return ModelCard(
        kind=kind,
        machines=data.measurements.machines,
        variants=tuple(sorted({variant for each in configurations for variant in each.variants})),
        degrees=tuple(sorted({each.degree for each in configurations})),
        configurations=len(configurations),
        spread=float(data.measurements.slowdown.std()),
        errors=errors,
        created_s=time.time(),
    )


def record(card: ModelCard) -> dict[str, Any]:
    """The card in JSON values."""
    return {
        "kind": card.kind,
        "machines": list(card.machines),
        "variants": list(card.variants),
        "degrees": list(card.degrees),
        "configurations": card.configurations,
        "spread": card.spread,
        "cross_validation_mae": card.errors,
        "created_s": card.created_s,
    }


def _print(card: ModelCard, out: Path) -> None:
    OUT.print(
        f"{card.kind} from {card.configurations} configurations of {len(card.variants)} variants on "
        f"{', '.join(card.machines)}; {out}",
        highlight=False,
        soft_wrap=True,
    )
    for kind, error in sorted(card.errors.items(), key=lambda item: item[1]):
        OUT.print(
            f"  {kind}: mean absolute error {error:.4f} on configurations held out in turn",
            highlight=False,
            soft_wrap=True,
        )
    OUT.print(f"  slowdowns spread by {card.spread:.4f} (standard deviation)", highlight=False, soft_wrap=True)

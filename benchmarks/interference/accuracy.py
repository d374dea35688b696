"""How well slowdowns are predicted (sections 3.1 and 3.2 of the paper; its Table 4)."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from benchmarks.interference.learned import sampled
from catalog.errors import ConfigError
from predictor.examples import Examples, examples_of
from predictor.kinds import KINDS
from predictor.measurements import Measurements
from predictor.models.separate import fit_separate
from predictor.scores import mean_absolute_error, mean_predictor_error, repeat_noise
from predictor.splits import TRAINING_SHARE, split
from predictor.training import LEAST_CONFIGURATIONS, fit, train
from predictor.variant_table import VariantTable

OnStep = Callable[[str], None]


def accuracy(measurements: Measurements, table: VariantTable, seed: int, on_step: OnStep) -> dict[str, Any]:
    """Errors on the 30% of the configurations that nothing was learned from, for every kind and set of metrics.

    ``unified_mae`` and ``separate_mae`` are those of the kind that did best in cross-validation on the other 70%, each
    for itself, with all metrics. Of many configurations a sample is learned from, which
    ``training_configurations`` counts. Raises `ConfigError` where 70% are too few to learn from.
    """
    _refuse_too_few(measurements)
    others, test = split(measurements, seed)
    training = sampled(others, seed)
    learned, truth = examples_of(training), examples_of(test)
    chosen: dict[str, Any] = {}
    for name, separate in (("unified", False), ("separate", True)):
        on_step(f"{name} predictors, cross-validation")
        best = train(training, table, separate=separate, seed=seed)
        error = mean_absolute_error(best.predictor, truth)
        chosen[name] = {"kind": best.kind, "mae": error, "cross_validation_mae": dict(best.errors)}
    by_metrics = {
        name: {kind: _both(learned, truth, table, kind, columns, seed, on_step) for kind in KINDS}
        for name, columns in metric_sets(table).items()
    }
    return {
        "unified_mae": chosen["unified"]["mae"],
        "separate_mae": chosen["separate"]["mae"],
        "mean_mae": mean_predictor_error(learned, truth),
        "noise_mae": repeat_noise(measurements),
        "spread": float(examples_of(measurements).slowdown.std()),
        "chosen": chosen,
        "by_metrics": by_metrics,
        "training_configurations": len(learned.configurations),
        "test_configurations": len(truth.configurations),
    }


def _refuse_too_few(measurements: Measurements) -> None:
    found = len(measurements.repeats)
    if round(TRAINING_SHARE * found) < LEAST_CONFIGURATIONS:
        least = next(number for number in count() if round(TRAINING_SHARE * number) >= LEAST_CONFIGURATIONS)
        raise ConfigError(
            f"{found} configurations are too few to learn from {TRAINING_SHARE:.0%} of them; measure at least {least}"
        )


def metric_sets(table: VariantTable) -> dict[str, Sequence[str]]:
    """Names of metrics of the hardware, of the architecture, and of both; sets without any are left out."""
    sets = {
        "hardware": table.hardware_columns,
        "architecture": table.architecture_columns,
        "both": (*table.hardware_columns, *table.architecture_columns),
    }
    return {name: columns for name, columns in sets.items() if columns}


def _both(
    learned: Examples,
    truth: Examples,
    table: VariantTable,
    kind: str,
    columns: Sequence[str],
    seed: int,
    on_step: OnStep,
) -> dict[str, float]:
    on_step(f"{kind} with {len(columns)} metrics")

    def fitted(examples: Examples) -> Any:
        return fit(examples, table, kind, columns=columns, seed=seed)

    return {
        "unified_mae": mean_absolute_error(fitted(learned), truth),
        "separate_mae": mean_absolute_error(fit_separate(learned, fitted), truth),
    }

"""How well each forecaster forecasts a load that it did not learn from.

``python -m benchmarks.forecast --series FILE --task ipa --json``. The series is a CSV or Parquet file as
`docs/forecasting.md` describes it, in steps of one second; seconds without any request count as not observed.

Task ``ipa`` (IPA, section 3): the maximum of the next 20 s from the past 120 s, every 10 s, learned from the first
``--train-days`` days. Task ``cocktail`` (Cocktail, section 4.2.2 and Table 4): the mean of the minute that ends 10 min
ahead, from the minutes before, every minute, scaled to a mean of 50 queries/s, learned from the first 60%.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from benchmarks.forecast.comparison import Comparison, compare
from benchmarks.machine import with_machine
from benchmarks.recorded_load import read_recorded
from catalog.errors import AccordError, ConfigError
from forecast.registry import NAMES
from forecast.series.series import DAY_S, LoadSeries
from forecast.training.task import ForecastTask

SERIES_FILE = Path(__file__).parents[3] / "shared" / "data" / "twitter" / "load_per_second_18d.csv.gz"
COCKTAIL_MEAN_QPS = 50.0
COCKTAIL_TRAINED = 0.6


@dataclass(frozen=True)
class Study:
    """A task, how often it is scored, the models, and where training ends if nobody says."""

    task: ForecastTask
    every_s: int
    models: tuple[str, ...]
    train_days: float | None


STUDIES = {
    "ipa": Study(
        ForecastTask(),
        10,
        ("deepar", "lstm", "feed_forward", "linear", "ewma", "moving_average", "seasonal_naive"),
        14.0,
    ),
    "cocktail": Study(
        ForecastTask(
            context_s=3600, window_s=60, lead_s=540, block_s=60, memory_s=12 * 3600, statistic="mean", point="mean"
        ),
        60,
        ("deepar", "lstm", "feed_forward", "moving_average", "logistic", "linear", "trend", "ewma"),
        None,
    ),
}


def main() -> None:
    """Train, forecast, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    parser.add_argument("--series", default=str(SERIES_FILE), help="CSV or Parquet file or URL (default %(default)s)")
    parser.add_argument("--task", choices=sorted(STUDIES), default="ipa")
    parser.add_argument("--train-days", type=float, help="learn from so many days (ipa: 14, cocktail: the first 60%%)")
    parser.add_argument("--test-from-day", type=float, help="score from here on (default: where training ends)")
    parser.add_argument("--models", help="names with commas (default: those of the task)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    try:
        figures = with_machine(run(args), times=("train_s", "predict_ms", "total_s"))
    except AccordError as error:
        sys.exit(str(error))
    print(orjson.dumps(figures).decode() if args.json else yaml.safe_dump(figures, sort_keys=False))


def run(args: argparse.Namespace) -> dict[str, Any]:
    """All figures of one run."""
    study = STUDIES[args.task]
    models = tuple(args.models.split(",")) if args.models else study.models
    if strangers := [name for name in models if name not in NAMES]:
        raise ConfigError(f"forecaster {strangers[0]!r} is not known; known are {', '.join(NAMES)}")
    series, report = read_recorded(args.series)
    for line in report.lines():
        print(line, file=sys.stderr)
    if args.task == "cocktail":
        scale = COCKTAIL_MEAN_QPS / series.loads_qps.mean()
        series = LoadSeries(series.times_s, series.loads_qps * scale, series.step_s)
    train_end_s, test_from_s = _spans(series, study, args)
    comparison = compare(series, study.task, study.every_s, train_end_s, test_from_s, models, args.seed)
    return {
        "task": args.task,
        "trained_until_day": (train_end_s - series.start_s) / DAY_S,
        "tested_from_day": (test_from_s - series.start_s) / DAY_S,
        "test_origins": comparison.origins,
        "mean_qps": comparison.mean_qps,
        "models": comparison.models,
        **(_ipa(comparison) if args.task == "ipa" else _cocktail(comparison)),
    }


def _spans(series: LoadSeries, study: Study, args: argparse.Namespace) -> tuple[float, float]:
    """Until when to learn, and from when to score, as instants of the series."""
    days = args.train_days if args.train_days is not None else study.train_days
    if days is None:
        train_end_s = float(series.times_s[int(COCKTAIL_TRAINED * len(series))])
    else:
        train_end_s = series.start_s + days * DAY_S
    test_from_s = train_end_s if args.test_from_day is None else series.start_s + args.test_from_day * DAY_S
    has_days = (series.end_s - series.start_s) / DAY_S
    if not series.start_s < train_end_s < series.end_s or not train_end_s <= test_from_s < series.end_s:
        raise ConfigError(
            f"learning until day {(train_end_s - series.start_s) / DAY_S:g} and scoring from day "
            f"{(test_from_s - series.start_s) / DAY_S:g} does not fit a series of {has_days:.2f} days; learn first, "
            "score later, both within it (--train-days, --test-from-day)"
        )
    return train_end_s, test_from_s


def _ipa(comparison: Comparison) -> dict[str, Any]:
    networks = [comparison.models[name]["smape_pct"] for name in ("deepar", "lstm") if name in comparison.models]
    return {"best_network_smape_pct": min(networks)} if networks else {}


def _cocktail(comparison: Comparison) -> dict[str, Any]:
    rmse = {name: figures["rmse"] for name, figures in comparison.models.items()}
    order: dict[str, Any] = {"order": sorted(rmse, key=lambda name: rmse[name])}
    if {"deepar", "lstm"} <= rmse.keys():
        order["deepar_leads_lstm_pct"] = 100 * (1 - rmse["deepar"] / rmse["lstm"]) if rmse["lstm"] else None
    if "ewma" in rmse:
        order["rmse_over_ewma"] = {name: value / rmse["ewma"] if rmse["ewma"] else None for name, value in rmse.items()}
    return order


if __name__ == "__main__":
    main()
